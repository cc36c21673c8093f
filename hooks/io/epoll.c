/* Waiting for an epoll descriptor of the program's, which can be polled itself. */
#include <limits.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/trywait.h"

static long epoll_in_kernel(int fd, void *events, int max, uint64_t deadline_ns)
{
	struct timespec ts;
	long r = fib_signal_mask_open();

	if (r == 0)
		r = fib_blocking(SYS_epoll_pwait2,
				 (long[6]){ fd, (long)events, max,
					    fib_time_left(deadline_ns, &ts), 0,
					    8 });
	if (fib_is_denied(r)) {
		uint64_t ms = (fib_ns_left(deadline_ns) + 999999) / 1000000;

		r = fib_blocking(SYS_epoll_wait,
				 (long[6]){ fd, (long)events, max,
					    deadline_ns == FIB_NEVER ? -1 :
					    ms > INT_MAX	     ? INT_MAX :
								       (long)ms });
	}
	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

/* Until it is readable. */
static long do_epoll(int fd, void *events, int max, uint64_t deadline_ns)
{
	struct fib_known *k = fib_fd_know(fd);
	struct fib_io io;
	long r;

	if (fib_self()->thread.own_files)
		return epoll_in_kernel(fd, events, max, deadline_ns);
	if (!k || deadline_ns == 0)
		return fib_raw(SYS_epoll_wait, fd, events, max, 0);
	io = FIB_HOOK_IO(k, FIB_IO_READ);
	io.deadline_ns = deadline_ns;
	/* ep_poll(): the last one to come is the first to go */
	io.turn = FIB_TURN_FIRST;
	for (;;) {
		fib_io_begin(&io);
		r = fib_raw(SYS_epoll_wait, io.s->fd, events, max, 0);
		if (r == 0)
			r = fib_signal_mask_open();
		if (r)
			break;
		fib_stop_ends();
		r = fib_io_wait(&io);
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
