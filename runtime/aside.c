/*
 * Files are read and written aside, where the program's table of descriptors is
 * not touched. An open file would have the lowest free number for a moment, and
 * the program's other threads may count on that: open() after close(), dup() of
 * a standard stream, a number that was reserved. And what they copy (fork) or
 * close (closefrom) would have it too.
 *
 * So a kernel thread is made for it that leaves the table for an empty one of its
 * own, and ends. Nothing is copied: the range that it does not take along is all of
 * it. Nor is it made often: where a worker is stuck, and where a name is set.
 *
 * The caller blocks all signals until it has ended, kicks too. So who changes the
 * identity of all kernel threads (hooks/process/identity.c) waits for both.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include "runtime/aside.h"
#include "runtime/sched.h"

#define STACK_SIZE (16ul * 1024)
#define YIELDS	   2
#define NAP_NS	   20000

static struct fib_lock lock = FIB_LOCK(ASIDE);
static _Atomic int word; /* the kernel zeroes it when the thread has ended */

struct errand {
	const char *path;
	int flags;
	void *data;
	size_t size;
	long result;
};

static long transfer(const struct errand *e)
{
	bool reads = (e->flags & O_ACCMODE) == O_RDONLY;
	long r, fd = fib_raw(SYS_openat, AT_FDCWD, e->path,
			     e->flags | O_CLOEXEC);

	if (fd < 0)
		return fd;
	r = fib_raw(reads ? SYS_read : SYS_write, fd, e->data, e->size);
	fib_raw(SYS_close, fd);
	return r;
}

static void run(void *arg)
{
	struct errand *e = arg;

	e->result = fib_raw(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE);
	if (e->result == 0)
		e->result = transfer(e);
}

/* Until the kernel has forgotten it: it counts as a thread of the process. */
static void await_end(long tid)
{
	struct timespec nap = { 0, NAP_NS };
	int now;

	while ((now = fib_load(&word, acquire)))
		fib_raw(SYS_futex, &word, FUTEX_WAIT, now, 0);
	/* It needs a processor, where there is other work: who yields may keep it. */
	for (int n = 0; fib_raw(SYS_tgkill, fib_raw(SYS_getpid), tid, 0) == 0;
	     n++)
		if (n < YIELDS)
			fib_raw(SYS_sched_yield);
		else
			fib_raw(SYS_futex, &word, FUTEX_WAIT, 0, &nap);
}

static long do_aside(struct errand *e)
{
	static void *stack_top;
	uint64_t all = ~0ull, mask;
	long tid = -ENOMEM;

	/* Its filter knows libc's way to do this. */
	if (fib_filtered())
		return transfer(e);
	/* First: no handler comes to this lock. */
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	fib_lock(&lock);
	if (!stack_top)
		stack_top = fib_thread_stack(STACK_SIZE);
	if (stack_top)
		tid = fib_thread_clone(FIB_THREAD_FLAGS, stack_top, &word, run,
				       e);
	if (tid > 0)
		await_end(tid);
	else
		e->result = tid;
	fib_unlock(&lock);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	return e->result;
}

long fib_read_aside(const char *path, char *text, size_t size)
{
	struct errand e = { path, O_RDONLY, text, size, 0 };

	return do_aside(&e);
}

long fib_read_aside_now(const char *path, char *data, size_t size)
{
	struct errand e = { path, O_RDONLY | O_NONBLOCK | O_NOCTTY, data, size,
			    0 };

	return do_aside(&e);
}

long fib_write_aside(const char *path, const char *text, size_t size)
{
	struct errand e = { path, O_WRONLY, (char *)text, size, 0 };

	return do_aside(&e);
}

void fib_aside_forget(void)
{
	fib_lock_init(&lock, ASIDE);
	fib_store(&word, 0, relaxed);
}
