/*
 * Writing the prepared bytes into the text.
 *
 * Rejected: making text writable and then executable again in two steps. Where
 * a policy (PR_SET_MDWE, SELinux execmod) refuses the second, all of libc is
 * dead. Asked for both at once the kernel refuses before anything has changed;
 * then images of the text in memory files are prepared beside it, and moved
 * over it only when all of them are complete.
 *
 * Text that a thread may be executing is never written: a thread that waits
 * in the kernel or was preempted on its way out of it has a pc right behind a
 * syscall instruction, which is inside the window. Objects that are loaded
 * later are therefore written before any of their code can run (rewrite.c).
 */
#include "preload/rewrite_int.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/arch/x86_64/raw.h"

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
	for (uint32_t i = 0; i < FIB_MAX_SITES; i++)
		if (is_pending(&fib_sites[i]) &&
		    (in_range(r, fib_sites[i].start) ||
		     in_range(r, fib_sites[i].block)))
			return true;
	return false;
}

/* The slot, without the core, which is the same in all of them. */
static void write_slot(const struct fib_site *s, uintptr_t delta)
{
	uint8_t *slot = (uint8_t *)(s->slot + delta);

	if (!s->slot)
		return;
	memcpy(slot, s->body, FIB_SLOT_CORE);
	if (s->block == s->slot)
		memcpy(slot + FIB_SLOT_TAIL, s->body + FIB_SLOT_TAIL,
		       FIB_SLOT_SIZE - FIB_SLOT_TAIL);
	else
		fib_insn_jmp_far(slot + FIB_SLOT_TAIL,
				 s->block + FIB_SLOT_TAIL);
}

/* Writes what belongs in the range, `delta` bytes away from it. */
static void write_range(const struct fib_range *r, uintptr_t delta, bool undo)
{
	for (uint32_t i = 0; i < FIB_MAX_SITES; i++) {
		struct fib_site *s = &fib_sites[i];

		if (!is_pending(s))
			continue;
		if (r == fib_ranges)
			write_slot(s, delta);
		else if (in_range(r, s->block))
			memcpy((void *)(s->block + delta), s->body,
			       FIB_SLOT_SIZE);
		else if (in_range(r, s->start))
			memcpy((void *)(s->start + delta),
			       undo ? s->old : s->new, s->len);
	}
}

static long protect(const struct fib_range *r, int prot)
{
	return fib_raw(SYS_mprotect, r->start, r->end - r->start, prot);
}

/* Ranges that are needed, made writable; or none of them. */
static int open_ranges(void)
{
	for (uint32_t i = 0; i < fib_nranges; i++) {
		long err = 0;

		if (needed(&fib_ranges[i]))
			err = protect(&fib_ranges[i],
				      PROT_READ | PROT_WRITE | PROT_EXEC);
		if (!err)
			continue;
		while (i-- > 0)
			if (needed(&fib_ranges[i]))
				protect(&fib_ranges[i], fib_ranges[i].prot);
		return (int)err;
	}
	return 0;
}

static int close_ranges(void)
{
	int err = 0;

	for (uint32_t i = 0; i < fib_nranges; i++)
		if (needed(&fib_ranges[i]) && !err)
			err = (int)protect(&fib_ranges[i], fib_ranges[i].prot);
	return err;
}

static int write_in_place(void)
{
	int err = open_ranges();

	if (err)
		return err;
	for (uint32_t i = 0; i < fib_nranges; i++)
		write_range(&fib_ranges[i], 0, false);
	err = close_ranges();
	if (!err)
		return 0;
	for (uint32_t i = 1; i < fib_nranges; i++)
		if (!protect(&fib_ranges[i],
			     PROT_READ | PROT_WRITE | PROT_EXEC))
			write_range(&fib_ranges[i], 0, true);
	return err;
}

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
	write_range(r, (uintptr_t)p - r->start, false);
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

static int write_images(void)
{
	uint32_t i;
	int err = 0;

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
		if (err)
			fib_raw(SYS_munmap, r->image, size);
		else if (fib_raw(SYS_mremap, r->image, size, size,
				 MREMAP_MAYMOVE | MREMAP_FIXED, r->start) < 0)
			__builtin_trap(); /* half of the text is replaced */
	}
	return err;
}

/* No other preload has been here in the meantime. */
static int verify(void)
{
	for (uint32_t i = 0; i < FIB_MAX_SITES; i++)
		if (is_pending(&fib_sites[i]) &&
		    memcmp((void *)fib_sites[i].start, fib_sites[i].old,
			   fib_sites[i].len))
			return fib_rewrite_fail(-ESTALE, "text has changed",
						fib_sites[i].start, NULL);
	return 0;
}

static void mark_applied(void)
{
	for (uint32_t i = 0; i < FIB_MAX_SITES; i++)
		if (is_pending(&fib_sites[i]))
			__atomic_store_n(&fib_sites[i].applied, true,
					 __ATOMIC_RELEASE);
}

int fib_write_alone(void)
{
	int err = verify();

	if (err)
		return err;
	err = write_in_place();
	if (err)
		err = write_images();
	if (err)
		return fib_rewrite_fail(err, "text may not be rewritten", 0,
					NULL);
	mark_applied();
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
