/*
 * Writing the prepared bytes into the text.
 *
 * Rejected: making text writable and then executable again in two steps. Where a policy (PR_SET_MDWE, SELinux execmod) refuses the second, all
 * of libc is dead. Asked for both at once the kernel refuses before anything
 * has changed; then images of the text in memory files are prepared beside
 * it, and moved over it only when all of them are complete.
 *
 * Where other threads run (an object that dlopen() just brought), a window is
 * written in three steps, each made known to all CPUs before the next: its
 * first two bytes become a jump to itself, where who arrives spins; then the
 * rest; then the first two. What remains is a thread inside the window: one
 * that waits in the kernel is seen in /proc, and the object is left alone;
 * one that was preempted between the two instructions of the window, in the
 * microseconds before, is not.
 */
#include "preload/rewrite_int.h"

#include <errno.h>
#include <fcntl.h>
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
		if (is_pending(&fib_sites[i]) && in_range(r, fib_sites[i].start))
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
	memcpy(slot + FIB_SLOT_TAIL, s->body + FIB_SLOT_TAIL,
	       FIB_SLOT_SIZE - FIB_SLOT_TAIL);
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
		if (!protect(&fib_ranges[i], PROT_READ | PROT_WRITE | PROT_EXEC))
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
		    memcmp((void *)fib_sites[i].start, fib_sites[i].old, fib_sites[i].len))
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

/* ---- while other threads run ---- */

/* Every thread of the process has executed a serializing instruction. */
static void serialize(void)
{
	if (fib_raw(SYS_membarrier,
		    MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		fib_raw(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static void store16(uintptr_t at, const uint8_t *bytes)
{
	uint16_t v;

	memcpy(&v, bytes, 2);
	/* One store, seen whole unless it crosses a cache line. */
	*(volatile uint16_t *)at = v;
}

static bool inside_pending(uintptr_t pc)
{
	for (uint32_t i = 0; i < FIB_MAX_SITES; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (is_pending(s) && pc > s->start && pc < s->start + s->len)
			return true;
	}
	return false;
}

/* The pc in a line of /proc/TID/syscall: its last field; 0: running. */
static uintptr_t last_field(const char *line, long len)
{
	uintptr_t v = 0;
	long i = len;

	while (i > 0 && line[i - 1] != ' ')
		i--;
	if (len - i < 3 || line[i] != '0' || line[i + 1] != 'x')
		return 0;
	for (i += 2; i < len && line[i] != '\n'; i++)
		v = v << 4 | (uintptr_t)(line[i] <= '9' ? line[i] - '0' :
							  line[i] - 'a' + 10);
	return v;
}

static bool waits_inside(int dir, const char *tid)
{
	char path[64], line[256];
	size_t n = strlen(tid);
	long fd, len;

	if (tid[0] == '.' || n > 20)
		return false;
	memcpy(path, tid, n);
	memcpy(path + n, "/syscall", sizeof("/syscall"));
	fd = fib_raw(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd != -ENOENT && fd != -ESRCH;
	len = fib_raw(SYS_read, fd, line, sizeof(line));
	fib_raw(SYS_close, fd);
	return len > 0 && inside_pending(last_field(line, len));
}

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* 0, -EBUSY: a thread waits inside a window; or that cannot be known. */
static int check_threads(void)
{
	char buf[4096] __attribute__((aligned(8)));
	long dir, len, at;
	int err = 0;

	dir = fib_raw(SYS_open, "/proc/self/task",
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return -EBUSY;
	while ((len = fib_raw(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (at = 0; at < len;) {
			struct dirent64 *d = (struct dirent64 *)(buf + at);

			if (waits_inside((int)dir, d->name))
				err = -EBUSY;
			at += d->reclen;
		}
	}
	fib_raw(SYS_close, dir);
	return len < 0 ? -EBUSY : err;
}

enum step { STEP_HOLD, STEP_REST, STEP_HEAD, STEP_UNDO };

static void write_step(enum step step)
{
	static const uint8_t spin[] = { 0xeb, 0xfe }; /* jmp to itself */

	for (uint32_t i = 0; i < FIB_MAX_SITES; i++) {
		const struct fib_site *s = &fib_sites[i];

		if (!is_pending(s))
			continue;
		switch (step) {
		case STEP_HOLD:
			store16(s->start, spin);
			break;
		case STEP_REST:
			memcpy((void *)(s->start + 2), s->new + 2,
			       (size_t)s->len - 2);
			break;
		case STEP_HEAD:
			store16(s->start, s->new);
			break;
		case STEP_UNDO:
			store16(s->start, s->old);
			break;
		}
	}
	serialize();
}

static int write_held(void)
{
	int err;

	write_range(&fib_ranges[0], 0, false);
	write_step(STEP_HOLD);
	err = check_threads();
	if (err) {
		write_step(STEP_UNDO);
		return err;
	}
	write_step(STEP_REST);
	write_step(STEP_HEAD);
	return 0;
}

int fib_write_live(void)
{
	uint64_t all = ~0UL, old;
	int err = verify();

	if (err)
		return err;
	fib_raw(SYS_membarrier,
		MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	fib_raw(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &old, 8);
	err = open_ranges();
	if (!err) {
		err = write_held();
		close_ranges();
	}
	fib_raw(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &old, 0, 8);
	if (err == -EBUSY)
		return fib_rewrite_fail(err, "a thread waits in the text", 0,
					NULL);
	if (err)
		return fib_rewrite_fail(err, "text may not be rewritten", 0,
					NULL);
	mark_applied();
	return 0;
}
