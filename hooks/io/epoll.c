/*
 * Waiting for an epoll descriptor of the program's, which can be polled itself:
 * a fiber tries, parks until it is readable, and tries again. With what wakes the
 * worker that is three calls where the kernel has one.
 *
 * An event loop lives in this call. So a thread that has made LOOP_WAITS such calls,
 * that waited or found something, and has hardly waited for anything else in
 * between, is bound to a kernel thread of its own (sched.h) for good, and from then
 * on waits in the kernel, as the program asked for it. So does whoever is bound for
 * other reasons, and so does a thread that lives in accept(): parked, it needs seven
 * calls (accept.c). Of the program's descriptors epoll has none of ours to tell of
 * then: an epoll descriptor that was waited for by parked fibers before is disarmed,
 * until one parks there again.
 *
 * A kernel thread each is what loops have natively; but where there are very many
 * threads that wait for epoll they are rather connections than loops, and the rest
 * goes on as fibers.
 *
 * Some files of /proc tell of a change once, to whoever asks first (many.c): in an
 * epoll descriptor that ours waits for, that would be ours. Once there is one in any
 * of the program's, these are waited for in the kernel alone; those may be in
 * each other, under several numbers:
 *
 *	who waits				epoll_ctl()
 *	---------				-----------
 *	seq = edges			(A)	fib_fd_tells_once = true
 *	is it set? into the kernel	(B)	each slot: edges++, all who wait
 *	publish, if edges is seq, or again	  try again; ours lets go of it
 *						the kernel's call
 */
#include <limits.h>
#include <sys/epoll.h>
#include <sys/vfs.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/trywait.h"

#define LOOP_WAITS 64

/* The file systems of those that do, of linux/magic.h. */
#define NAMELESS 0x09041934 /* ANON_INODE_FS_MAGIC: perf_poll(), see kind.c */
static const long telling[] = {
	0x9fa0,	    /* PROC_SUPER_MAGIC */
	0x63677270, /* CGROUP2_SUPER_MAGIC: psi_trigger_poll() */
	NAMELESS,
};

static bool may_tell_once(int fd)
{
	uint8_t kind = fib_fd_kind(fd);
	struct statfs fs;
	size_t i = 0;

	/* Those are regular files, or taken for such. */
	if ((kind != FIB_FD_UNKNOWN && kind != FIB_FD_ALWAYS) ||
	    fib_raw(SYS_fstatfs, fd, &fs))
		return false;
	while (i < sizeof(telling) / sizeof(*telling) &&
	       fs.f_type != telling[i])
		i++;
	if (i == sizeof(telling) / sizeof(*telling))
		return false;
	/* One that is older than the first thread is an eventfd, mostly. */
	return kind != FIB_FD_UNKNOWN || fs.f_type != NAMELESS ||
	       fib_fd_find_kind(fd) == FIB_FD_ALWAYS;
}

static void leave_to_kernel(void)
{
	fib_store(&fib_fd_tells_once, true, seq_cst);
	for (int fd = 0; fd < (int)FIB_FD_MAX; fd++) {
		struct fib_fd *s = fib_fd_peek(fd);

		if (!s) {
			fd |= FIB_FD_CHUNK - 1;
			continue;
		}
		fib_iom_all_again(s, FIB_IO_BOTH, FIB_WOKEN_TO_LOOK);
		if (fib_fd_may_be_epoll(fib_fd_kind(fd)))
			fib_io_disarm(s);
	}
}

long fib_sys_epoll_ctl(int ep, int op, int fd, void *event)
{
	if (op == EPOLL_CTL_ADD && !fib_load(&fib_fd_tells_once, relaxed) &&
	    may_tell_once(fd))
		leave_to_kernel();
	return fib_raw(SYS_epoll_ctl, ep, op, fd, event);
}

bool fib_io_would_loop(void)
{
	const struct fib *f = fib_self();

	return f->bound || f->io.loops >= LOOP_WAITS;
}

/* A call that begins: nothing was tried yet. */
bool fib_io_loops(bool soon)
{
	struct fib *f = fib_self();

	if (fib_likely(!f->bound) && (f->io.loops >= LOOP_WAITS || soon)) {
		f->io.loops = 0;
		fib_bind_loop();
	}
	return f->bound;
}

void fib_io_waits(bool as_loop)
{
	struct fib *f = fib_self();

	if (!as_loop)
		f->io.loops /= 2;
	else if (f->io.loops < LOOP_WAITS)
		f->io.loops++;
}

void fib_io_disarm(struct fib_fd *s)
{
	if (!s->registered)
		return;
	fib_lock(&s->lock);
	fib_iom_disarm_locked(s);
	fib_unlock(&s->lock);
}

/* By the call that the program makes, which a filter may have alone. */
static long epoll_in_kernel(int fd, void *events, int max, uint64_t deadline_ns)
{
	long a[6] = { fd, (long)events, max, -1, 0, 8 };
	long nr = SYS_epoll_wait, r = fib_signal_mask_open();
	struct timespec ts;

	if (r)
		return r;
	if (fib_self()->hook.call == SYS_epoll_pwait2) {
		nr = SYS_epoll_pwait2;
		a[3] = fib_time_left(deadline_ns, &ts);
	} else if (deadline_ns != FIB_NEVER) {
		uint64_t ms = (fib_ns_left(deadline_ns) + 999999) / 1000000;

		a[3] = ms > INT_MAX ? INT_MAX : (long)ms;
	}
	fib_stop_ends();
	r = fib_blocking_for_event(nr, a);
	fib_io_tells(r);
	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

/* What is there goes before signals that the call lets in. */
static long wait_as_asked(struct fib_fd *s, void *events, int max,
			  uint64_t deadline_ns)
{
	long r = 0;

	fib_io_disarm(s);
	if (fib_self()->hook.restore_mask)
		r = fib_raw(SYS_epoll_wait, s->fd, events, max, 0);
	fib_io_tells(r);
	return r ? r : epoll_in_kernel(s->fd, events, max, deadline_ns);
}

/* A loop that has something to do hardly waits: libuv's looks, where it may. */
static long look(struct fib_known *k, void *events, int max)
{
	long r;

	if (fib_io_loops(false))
		fib_io_disarm(k->slot);
	r = fib_raw(SYS_epoll_wait, k->fd, events, max, 0);
	fib_io_tells(r);
	if (r > 0)
		fib_io_waits(true);
	return r;
}

/* Until it is readable. */
static long do_epoll(int fd, void *events, int max, uint64_t deadline_ns)
{
	struct fib_known *k;
	struct fib_io io;
	long r;

	if (fib_self()->call.own_files)
		return epoll_in_kernel(fd, events, max, deadline_ns);
	k = fib_fd_know(fd);
	if (!k)
		return fib_raw(SYS_epoll_wait, fd, events, max, 0);
	if (deadline_ns == 0)
		return look(k, events, max);
	if (fib_io_loops(FIB_CHAOS_ODDS(epoll_loop, 8)))
		return wait_as_asked(k->slot, events, max, deadline_ns);
	io = FIB_HOOK_IO(k, FIB_IO_READ);
	io.deadline_ns = deadline_ns;
	/* ep_poll(): the last one to come is the first to go */
	io.turn = FIB_TURN_FIRST;
	for (;;) {
		fib_io_begin(&io);			     /* (A) */
		if (fib_load(&fib_fd_tells_once, seq_cst)) { /* (B) */
			r = wait_as_asked(io.s, events, max, deadline_ns);
			break;
		}
		r = fib_raw(SYS_epoll_wait, io.s->fd, events, max, 0);
		if (r >= 0)
			fib_io_waits(true);
		if (r == 0)
			r = fib_signal_mask_open();
		if (r)
			break;
		fib_stop_ends();
		r = fib_io_wait(&io);
		if (r == -EINTR && fib_wait_stays())
			continue;
		if (r == -EINTR && !fib_cancel_is_near()) {
			r = fib_raw(SYS_epoll_wait, io.s->fd, events, max, 0);
			if (r > 0)
				break;
			r = -EINTR;
		}
		if (r == -ETIMEDOUT)
			r = 0;
		else if (r == -EINTR)
			r = -FIB_ERESTARTNOHAND;
		else if (r == 0)
			continue;
		else
			r = epoll_in_kernel(fd, events, max, deadline_ns);
		break;
	}
	fib_io_end(&io);
	return r;
}

long fib_sys_epoll_wait(int fd, void *events, int max, int timeout_ms)
{
	uint64_t deadline = FIB_NEVER;

	if (timeout_ms == 0)
		deadline = 0;
	else if (timeout_ms > 0)
		deadline = fib_deadline_in((uint64_t)timeout_ms * 1000000);
	return do_epoll(fd, events, max, deadline);
}

long fib_sys_epoll_pwait(int fd, void *events, int max, int timeout_ms,
			 const uint64_t *mask, size_t size)
{
	long r = fib_poll_mask(mask, size);

	return r ? r : fib_sys_epoll_wait(fd, events, max, timeout_ms);
}

long fib_sys_epoll_pwait2(int fd, void *events, int max,
			  const struct timespec *ts, const uint64_t *mask,
			  size_t size)
{
	uint64_t deadline;
	long r = fib_poll_deadline(ts, &deadline);

	if (r == 0)
		r = fib_poll_mask(mask, size);
	return r ? r : do_epoll(fd, events, max, deadline);
}
