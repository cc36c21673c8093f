/*
 * Waiting for io_uring and for kernel AIO. The kernel waits, on a kernel thread;
 * a signal mask that the call brings along is the fiber's alone, since the
 * worker's own one must not open.
 *
 * A kernel thread is remembered by a ring: as the only one that may submit
 * (IORING_SETUP_SINGLE_ISSUER), with rings that it has registered, by what it has
 * submitted, which ends when it ends. So who may be remembered has one to himself.
 * Who has made a ring before there were fibers: preload/activate.c.
 */
#include <linux/aio_abi.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"

/* include/uapi/linux/io_uring.h, which older systems lack in part */
#define SETUP_R_DISABLED    (1u << 6)
#define SETUP_SINGLE_ISSUER (1u << 12)
#define ENTER_GETEVENTS	    1u
#define ENTER_SQ_WAIT	    4u
#define ENTER_EXT_ARG	    8u
#define ENTER_KNOWN	    31u /* up to REGISTERED_RING */

struct getevents_arg {
	uint64_t sigmask;
	uint32_t sigmask_sz;
	uint32_t pad;
	uint64_t ts;
};

long fib_sys_io_uring_setup(unsigned entries, void *params)
{
	unsigned p[3] = { 0 }; /* sq_entries, cq_entries, flags */
	long r;

	/* One that is disabled is whose who enables it. */
	if (!fib_copy(p, params, sizeof(p)) && (p[2] & SETUP_SINGLE_ISSUER) &&
	    !(p[2] & SETUP_R_DISABLED) && fib_bind_self())
		return -ENOMEM;
	r = fib_pass(SYS_io_uring_setup, (long[6]){ entries, (long)params });
	if (r >= 0)
		fib_fd_unseen();
	return r;
}

long fib_sys_io_uring_register(int fd, unsigned op, void *arg, unsigned n)
{
	if (fib_bind_self())
		return -ENOMEM;
	return fib_pass(SYS_io_uring_register,
			(long[6]){ fd, op, (long)arg, n });
}

/* The call has opened its mask: a signal that came before it began ends it. */
static long wait_masked(long nr, const long a[6])
{
	long r = fib_signal_mask_open();

	if (r == 0)
		r = fib_blocking(nr, a);
	return r == -FIB_ERESTARTNOINTR ? -FIB_ERESTARTNOHAND : r;
}

static bool is_ready(const long a[6])
{
	struct timespec now = { 0, 0 };
	struct getevents_arg ext = { .ts = (uintptr_t)&now };

	return fib_raw(SYS_io_uring_enter, a[0], 0, a[2], a[3] | ENTER_EXT_ARG,
		       &ext, sizeof(ext)) == 0;
}

/*
 * io_cqring_wait() of the kernel: what is there goes before signals, and what
 * has been submitted is the result in any case.
 */
static long enter_masked(long a[6], uint64_t set)
{
	long r;

	fib_signal_mask_later(set);
	r = wait_masked(SYS_io_uring_enter, a);
	if (r != -FIB_ERESTARTNOHAND)
		return r;
	if (a[1])
		return fib_raw(SYS_io_uring_enter, a[0], a[1], 0, a[3], 0, 0);
	return is_ready(a) ? 0 : r;
}

/*
 * What is submitted is done on the spot where that is possible: the signal of a write to
 * what is broken, or too large, comes beside the result.
 */
static long submitted(long r)
{
	if (r > 0 && !fib_filtered()) {
		fib_signal_raise(fib_self(), SIGPIPE, true);
		fib_signal_raise(fib_self(), SIGXFSZ, true);
	}
	return r;
}

long fib_sys_io_submit(unsigned long ctx, long n, void *requests)
{
	return submitted(fib_slow_pass_intr(
		SYS_io_submit, (long[6]){ (long)ctx, n, (long)requests }));
}

static long enter(int fd, unsigned submit, unsigned min, unsigned flags,
		  const void *arg, size_t size)
{
	struct getevents_arg ext;
	long a[6] = { fd, submit, min, flags, (long)arg, (long)size };
	const long asked[6] = { fd, submit, min, flags, (long)arg, (long)size };
	const void *mask = arg;
	uint64_t set;

	if (!(flags & ENTER_SQ_WAIT) && !(flags & ENTER_GETEVENTS && min))
		return fib_pass(SYS_io_uring_enter, a);
	if (!(flags & ENTER_GETEVENTS) || !arg)
		return fib_blocking(SYS_io_uring_enter, a);
	if (flags & ENTER_EXT_ARG) {
		/* Where this is not how it is laid out, the kernel says so. */
		if (size != sizeof(ext) || (flags & ~ENTER_KNOWN))
			return fib_blocking(SYS_io_uring_enter, a);
		if (fib_copy(&ext, arg, sizeof(ext)))
			return fib_pass(SYS_io_uring_enter, asked);
		mask = (const void *)(uintptr_t)ext.sigmask;
		size = ext.sigmask_sz;
		ext.sigmask = 0;
		a[4] = (long)&ext;
	} else {
		a[4] = a[5] = 0;
	}
	if (!mask)
		return fib_blocking(SYS_io_uring_enter, a);
	/* What is wrong comes after what is submitted. */
	if (size != sizeof(set) || fib_copy(&set, mask, sizeof(set)))
		return fib_pass(SYS_io_uring_enter, asked);
	return enter_masked(a, set);
}

long fib_sys_io_uring_enter(int fd, unsigned submit, unsigned min,
			    unsigned flags, const void *arg, size_t size)
{
	if (!submit)
		return enter(fd, 0, min, flags, arg, size);
	/* The ring may have come from elsewhere. */
	fib_fd_unseen();
	fib_bind_self();
	return submitted(enter(fd, submit, min, flags, arg, size));
}

/*
 * io_getevents(), or with a mask that is the fiber's by now. read_events() takes what is
 * there when a signal comes: after a kick the rest of @min events is waited for, and of
 * the time.
 */
static long get_events(long nr, unsigned long ctx, long min, long n,
		       struct io_event *events, const struct timespec *timeout)
{
	struct fib *f = fib_self();
	uint64_t deadline = FIB_NEVER;
	long r, done = 0, limit = (long)timeout;
	struct timespec ts;
	int64_t ns;

	if (timeout && (ns = fib_timespec_ns(timeout)) >= 0)
		deadline = fib_ns_add(fib_now_ns(), (uint64_t)ns);
	fib_stop_ends();
	for (;;) {
		const long a[6] = {
			(long)ctx, min - done, n - done, (long)(events + done),
			limit,
		};

		fib_store(&f->sig.kicked, false, relaxed);
		r = nr == SYS_io_getevents ?
			    fib_slow_pass_intr((unsigned)nr, a) :
			    wait_masked(nr, a);
		if (r > 0)
			done += r;
		if (done >= min || !fib_io_goes_on(r, (size_t)-1))
			break;
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		limit = fib_time_left(deadline, &ts);
	}
	return done ? done : r;
}

long fib_sys_io_getevents(unsigned long ctx, long min, long n, void *events,
			  const struct timespec *timeout)
{
	struct timespec limit;

	if (timeout && fib_copy(&limit, timeout, sizeof(limit)))
		return -EFAULT;
	return get_events(SYS_io_getevents, ctx, min, n, events, timeout);
}

/* Here handlers run even if there are events. */
long fib_sys_io_pgetevents(unsigned long ctx, long min, long n, void *events,
			   const struct timespec *timeout, const void *sig)
{
	struct {
		const void *mask;
		size_t size;
	} s = { NULL, 0 };
	struct timespec now = { 0, 0 }, limit;
	uint64_t set;
	long r;

	if (timeout && fib_copy(&limit, timeout, sizeof(limit)))
		return -EFAULT;
	if (sig && fib_copy(&s, sig, sizeof(s)))
		return -EFAULT;
	if (s.mask) {
		if (s.size != sizeof(set))
			return -EINVAL;
		if (fib_copy(&set, s.mask, sizeof(set)))
			return -EFAULT;
		fib_signal_mask_for_call(set);
	}
	r = get_events(SYS_io_pgetevents, ctx, min, n, events, timeout);
	if (!s.mask || r != -FIB_ERESTARTNOHAND)
		return r;
	r = fib_raw(SYS_io_pgetevents, ctx, min, n, events, &now, 0);
	return r ? r : -FIB_ERESTARTNOHAND;
}
