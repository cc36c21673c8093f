/*
 * Writing the prepared bytes into the text.
 *
 * No page is writable and executable at any time, and none of the text is ever
 * without its execute permission: the bytes go through /proc/self/mem, which
 * writes to private mappings whatever their protection, as debuggers do. Where
 * that is refused (proc_mem.force_override=, no /proc, a process that is not
 * dumpable), images of the text in memory files are prepared beside it, and
 * moved over it when all of them are complete. Sealed text (mseal) is left
 * alone: whoever has sealed it wants no change.
 *
 * Order: slots, blocks, text. A window that is written leads to a slot that is,
 * and from there the call is passed to the kernel as long as nothing is
 * active. So if writing ends halfway, or a fork comes in its midst, what has
 * been written works as the original does.
 *
 * Rejected: mprotect() to all three permissions and back. While other threads
 * run, that lets them write code; so may a fork child, for good, that was
 * born meanwhile.
 *
 * Text that a thread may be executing is never written: a thread that waits
 * in the kernel or was preempted on its way out of it has a pc right behind a
 * syscall instruction, which is inside the window. Objects that are loaded
 * later are therefore written before any of their code can run (rewrite.c).
 */
#include "preload/rewrite/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_arch.h"

#define FIB_RUN 4096 /* a page: more is not mapped in one piece, perhaps */

static bool is_pending(const struct fib_site *s)
{
	return s->object && !s->applied;
}

static bool in_range(const struct fib_range *r, uintptr_t addr)
{
	return addr >= r->start && addr < r->end;
}

static bool needed(const struct fib_range *r)
{
	if (r == fib_ranges)
		return true;
	for (uint32_t i = 0; i < fib_nsites; i++)
		if (is_pending(&fib_sites[i]) &&
		    (in_range(r, fib_sites[i].start) ||
		     in_range(r, fib_sites[i].block)))
			return true;
	return false;
}

/* The slot, without the core, which is the same in all of them. */
static void write_slot(const struct fib_site *s, uint8_t *slot)
{
	memcpy(slot, s->body, FIB_SLOT_CORE);
	if (s->block == s->slot)
		memcpy(slot + FIB_SLOT_TAIL, s->body + FIB_SLOT_TAIL,
		       FIB_SLOT_SIZE - FIB_SLOT_TAIL);
	else
		fib_insn_jmp_far(slot + FIB_SLOT_TAIL,
				 s->block + FIB_SLOT_TAIL);
}

/* Writes what belongs in the range, `delta` bytes away from it. */
static void write_range(const struct fib_range *r, uintptr_t delta)
{
	for (uint32_t i = 0; i < fib_nsites; i++) {
		struct fib_site *s = &fib_sites[i];

		if (!is_pending(s))
			continue;
		if (r == fib_ranges && s->slot)
			write_slot(s, (uint8_t *)(s->slot + delta));
		else if (in_range(r, s->block))
			memcpy((void *)(s->block + delta), s->body,
			       FIB_SLOT_SIZE);
		else if (in_range(r, s->start))
			memcpy((void *)(s->start + delta), s->new, s->len);
	}
}

/* ---- through /proc/self/mem ---- */

static int put(int fd, uintptr_t at, const void *from, size_t n)
{
	long r = fib_raw(SYS_pwrite64, fd, from, n, at);

	return r == (long)n ? 0 : r < 0 ? (int)r : -EIO;
}

/* Neighbours together, by @buf: at the start it is nearly all of them. */
static int put_slots(int fd, uint8_t buf[FIB_RUN])
{
	uintptr_t at = 0;
	size_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < fib_nsites && !err; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (!is_pending(s) || !s->slot)
			continue;
		if (n && (s->slot != at + n || n == FIB_RUN)) {
			err = put(fd, at, buf, n);
			n = 0;
		}
		if (!n)
			at = s->slot;
		memcpy(buf + n, (void *)s->slot, FIB_SLOT_SIZE);
		write_slot(s, buf + n);
		n += FIB_SLOT_SIZE;
	}
	return err || !n ? err : put(fd, at, buf, n);
}

_Static_assert(FIB_RUN % FIB_SLOT_SIZE == 0, "whole slots");

/* Bytes that are one after the other in the text, and are written at once. */
struct run {
	uintptr_t at;
	size_t n;
	uint8_t bytes[FIB_RUN];
};

/* Site @s goes behind what is in @r, on the same page: what lies between stays. */
static bool append(struct run *r, const struct fib_site *s)
{
	size_t off = s->start - r->at;

	if (!r->n || s->start < r->at + r->n || off + s->len > FIB_RUN ||
	    (s->start + s->len - 1) / FIB_RUN != r->at / FIB_RUN)
		return false;
	memcpy(r->bytes + r->n, (void *)(r->at + r->n), off - r->n);
	memcpy(r->bytes + off, s->new, s->len);
	r->n = off + s->len;
	return true;
}

static int put_text(int fd, struct run *r)
{
	int err = 0;
	uint32_t i;

	r->n = 0;
	for (i = 0; i < fib_nsites && !err; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (!is_pending(s) || append(r, s))
			continue;
		if (r->n)
			err = put(fd, r->at, r->bytes, r->n);
		r->at = s->start;
		r->n = s->len;
		memcpy(r->bytes, s->new, s->len);
	}
	if (!err && r->n)
		err = put(fd, r->at, r->bytes, r->n);
	/* What could be written can be written again. */
	for (i = err ? i : 0; i-- > 0;)
		if (is_pending(&fib_sites[i]))
			put(fd, fib_sites[i].start, fib_sites[i].old,
			    fib_sites[i].len);
	return err;
}

static int write_through(void)
{
	int fd = (int)fib_raw(SYS_openat, AT_FDCWD, "/proc/thread-self/mem",
			      O_RDWR | O_CLOEXEC);
	struct run r;
	int err;

	if (fd < 0)
		return fd;
	err = put_slots(fd, r.bytes);
	for (uint32_t i = 0; i < fib_nsites && !err; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (is_pending(s) && s->block != s->slot)
			err = put(fd, s->block, s->body, FIB_SLOT_SIZE);
	}
	if (!err)
		err = put_text(fd, &r);
	fib_raw(SYS_close, fd);
	for (uint32_t i = 0; i < fib_nsites && !err; i++)
		if (is_pending(&fib_sites[i]))
			fib_sites[i].applied = true;
	return err;
}

/* ---- by images ---- */

/* A complete, executable copy of the range, elsewhere. */
static int make_image(struct fib_range *r)
{
	size_t size = r->end - r->start;
	long fd, p, err;

	fd = fib_raw(SYS_memfd_create, "fibhook-text", MFD_CLOEXEC);
	if (fd < 0)
		return (int)fd;
	err = fib_raw(SYS_ftruncate, fd, size);
	if (err)
		goto close;
	err = p = fib_raw(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  fd, 0);
	if (p < 0)
		goto close;
	memcpy((void *)p, (void *)r->start, size);
	write_range(r, (uintptr_t)p - r->start);
	fib_raw(SYS_munmap, p, size);
	err = p = fib_raw(SYS_mmap, 0, size, r->prot, MAP_PRIVATE, fd, 0);
	if (p < 0)
		goto close;
	r->image = (uintptr_t)p;
	err = 0;
close:
	fib_raw(SYS_close, fd);
	return (int)err;
}

/* Sites whose text the range is, which now holds what its image held. */
static void range_applied(const struct fib_range *r)
{
	for (uint32_t i = 0; i < fib_nsites; i++)
		if (is_pending(&fib_sites[i]) && r != fib_ranges &&
		    in_range(r, fib_sites[i].start))
			fib_sites[i].applied = true;
}

static int write_images(void)
{
	uint32_t i;
	long err = 0;

	for (i = 0; i < fib_nranges; i++)
		fib_ranges[i].image = 0;
	for (i = 0; i < fib_nranges && !err; i++)
		if (needed(&fib_ranges[i]))
			err = make_image(&fib_ranges[i]);
	for (i = 0; i < fib_nranges; i++) {
		struct fib_range *r = &fib_ranges[i];
		size_t size = r->end - r->start;

		if (!r->image)
			continue;
		if (!err)
			err = fib_raw(SYS_mremap, r->image, size, size,
				      MREMAP_MAYMOVE | MREMAP_FIXED, r->start);
		if (err == (long)r->start)
			err = 0;
		else
			fib_raw(SYS_munmap, r->image, size);
		if (!err)
			range_applied(r);
	}
	return (int)err;
}

/* ---- both ---- */

/* No other preload has been here in the meantime; or a parent, as it forked. */
static int verify(void)
{
	for (uint32_t i = 0; i < fib_nsites; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (is_pending(s) && memcmp((void *)s->start, s->old, s->len) &&
		    memcmp((void *)s->start, s->new, s->len))
			return fib_rewrite_fail(-ESTALE, "text has changed",
						s->start, NULL);
	}
	return 0;
}

/* mprotect() refuses it for a sealed mapping even if nothing would change. */
static int check_seals(void)
{
	for (uint32_t i = 0; i < fib_nranges; i++) {
		const struct fib_range *r = &fib_ranges[i];

		if (needed(r) && fib_raw(SYS_mprotect, r->start,
					 r->end - r->start, r->prot) == -EPERM)
			return fib_rewrite_fail(-EPERM, "text is sealed",
						r->start, NULL);
	}
	return 0;
}

int fib_write_alone(void)
{
	int err = verify();

	if (!err)
		err = check_seals();
	if (err)
		return err;
	err = write_through();
	if (err)
		err = write_images();
	if (err)
		return fib_rewrite_fail(err, "text may not be rewritten", 0,
					NULL);
	return 0;
}

/* Every thread of the process has executed a serializing instruction. */
static void serialize(void)
{
	static bool registered;

	if (!registered)
		fib_raw(SYS_membarrier,
			MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0,
			0);
	registered = true;
	fib_raw(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0,
		0);
}

int fib_write_unused(void)
{
	int err = fib_write_alone();

	if (!err)
		serialize();
	return err;
}
