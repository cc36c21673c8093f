/*
 * Files are read and written aside, where the program's table of descriptors is
 * not touched. An open file would have the lowest free number for a moment, and
 * the program's other threads may count on that: open() after close(), dup() of
 * a standard stream, a number that was reserved. And what they copy (fork) or
 * close (closefrom) would have it too.
 *
 * So a kernel thread is made for it that leaves the table for one of its own, and ends.
 * The range that it does not take along is all of it; the kernel copies the first 64
 * numbers nevertheless (dup_fd() of fs/file.c), and closes those again. Nobody sees that
 * but file systems that write back at each close (NFS, FUSE), and who has asked for a
 * message queue's notice: any close by the process ends that (mqueue_flush_file() of
 * ipc/mqueue.c). With such a one among them the table is not left, nor while one is asked
 * for: who asks says so, and waits for a thread that was under way then; who is to make one
 * says so, and looks who asks. It is not done often: where a worker is stuck, and where a
 * name is set.
 *
 * The caller blocks all signals until it has ended, kicks too. So who changes the
 * identity of all kernel threads (hooks/process/identity.c) waits for both.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include "runtime/aside.h"
#include "runtime/chaos.h"
#include "runtime/digits.h"
#include "runtime/sched.h"

#define STACK_SIZE (16ul * 1024)
#define YIELDS	   2
#define NAP_NS	   20000

#define COPIED	   64 /* NR_OPEN_DEFAULT */
#define QUEUE_SIZE 80 /* FILENT_SIZE of ipc/mqueue.c */

static struct fib_lock lock = FIB_LOCK(ASIDE);
static _Atomic int word; /* the kernel zeroes it when the thread has ended */
/* Has the program asked for a notice? BEFORE: perhaps, before its first thread. */
enum { BEFORE, NEVER, NOW };
static _Atomic int notice;
static _Atomic int asking; /* threads that are about to ask for one */
static _Atomic bool
	under_way; /* a thread, or the look whether there may be one; lock */

struct errand {
	const char *path;
	int flags;
	void *data;
	size_t size;
	bool often; /* rather not at all than by a number */
	long result;
};

/* "QSIZE:0 NOTIFY:0 SIGNO:10 NOTIFY_PID:4711", if it is a queue. */
static bool has_notice(int fd)
{
	char text[QUEUE_SIZE + 1];
	const char *p = text;
	struct statx x;
	long n;

	if (fib_raw(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		    STATX_TYPE | STATX_SIZE | STATX_BLOCKS, &x) ||
	    !S_ISREG(x.stx_mode) || x.stx_size != QUEUE_SIZE || x.stx_blocks)
		return false;
	n = fib_raw(SYS_pread64, fd, text, QUEUE_SIZE, 0);
	if (n <= 0)
		return n < 0; /* it may not be read */
	text[n] = 0;
	while (n && text[n - 1] != ':')
		n--;
	p = text + n;
	return fib_get_decimal(&p) == (uint64_t)fib_raw(SYS_getpid);
}

static bool waits_for_notice(void)
{
	int asked, fd = 0;

	if (fib_load(&asking, seq_cst))
		return true;
	asked = fib_load(&notice, relaxed);
	if (fib_likely(asked == NEVER))
		return false;
	while (fd < COPIED && !has_notice(fd))
		fd++;
	/* None that is older than the first thread. */
	if (fd == COPIED && asked == BEFORE)
		fib_cas(&notice, &asked, NEVER, relaxed);
	return fd < COPIED;
}

static uint64_t block_signals(void)
{
	uint64_t all = ~0ull, mask;

	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	return mask;
}

static void restore_signals(uint64_t mask)
{
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

void fib_aside_notice_begins(void)
{
	uint64_t mask;

	fib_store(&notice, NOW, relaxed);
	fib_add(&asking, 1, seq_cst);
	FIB_CHAOS_POINT(aside_notice);
	if (fib_likely(!fib_load(&under_way, seq_cst)))
		return;
	mask = block_signals();
	fib_lock(&lock);
	fib_unlock(&lock);
	restore_signals(mask);
}

void fib_aside_notice_ends(void)
{
	fib_sub(&asking, 1, release);
}

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

/* False, and nothing is done: the program waits for a notice, or may be about to. */
static bool go_aside(struct errand *e)
{
	static void *stack_top;
	long tid = -ENOMEM;

	fib_store(&under_way, true, seq_cst);
	if (waits_for_notice())
		return false;
	FIB_CHAOS_POINT(aside_clone);
	if (!stack_top)
		stack_top = fib_thread_stack(STACK_SIZE);
	if (stack_top)
		tid = fib_thread_clone(FIB_THREAD_FLAGS, stack_top, &word, run,
				       e);
	if (tid > 0)
		await_end(tid);
	else
		e->result = tid;
	return true;
}

static long do_aside(struct errand *e)
{
	uint64_t mask;
	bool done;

	/* Its filter knows libc's way to do this. */
	if (fib_filtered())
		return transfer(e);
	/* First: no handler comes to this lock. */
	mask = block_signals();
	fib_lock(&lock);
	done = go_aside(e);
	fib_store(&under_way, false, release);
	fib_unlock(&lock);
	restore_signals(mask);
	if (!done)
		return e->often ? -EAGAIN : transfer(e);
	return e->result;
}

long fib_read_aside(const char *path, char *text, size_t size)
{
	struct errand e = { .path = path,
			    .flags = O_RDONLY,
			    .data = text,
			    .size = size,
			    .often = true };

	return do_aside(&e);
}

long fib_read_aside_now(const char *path, char *data, size_t size)
{
	struct errand e = { .path = path,
			    .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY,
			    .data = data,
			    .size = size };

	return do_aside(&e);
}

long fib_write_aside(const char *path, const char *text, size_t size)
{
	struct errand e = { .path = path,
			    .flags = O_WRONLY,
			    .data = (char *)text,
			    .size = size };

	return do_aside(&e);
}

long fib_read_stat(int tid, char *text, size_t size)
{
	char path[40] = "/proc/self/task/";
	long n;

	memcpy(path + 16 + fib_put_decimal(path + 16, (unsigned)tid), "/stat",
	       6);
	n = fib_read_aside(path, text, size);
	return n < 0 ? 0 : n;
}

char fib_thread_state(int tid)
{
	char text[128];
	long n = fib_read_stat(tid, text, sizeof(text));

	while (n > 2 && text[n - 1] != ')')
		n--;
	return n > 2 ? text[n + 1] : 0;
}

void fib_aside_forget(void)
{
	fib_lock_init(&lock, ASIDE);
	fib_store(&word, 0, relaxed);
	fib_store(&notice, NEVER, relaxed);
	fib_store(&asking, 0, relaxed);
	fib_store(&under_way, false, relaxed);
}
