/*
 * POSIX message queues. A call that would wait stands in line, for its queue and
 * direction: the first waits in the kernel. There a message goes straight to it
 * (pipelined_send()), and mq_notify() is for those that nobody waits for; poll
 * would tell of it too late.
 *
 * No flag says that a call is not to wait. A time limit that has passed does. Who had
 * to wait last time is not tried again, but first in line at once, where nobody is.
 *
 * The kernel's queue is ordered by priority (wq_add()), the line is not. So who has a
 * higher one than those in line does not stand there, but in the kernel before all.
 */
#include <fcntl.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"
#include "runtime/aside.h"

#define PRIORITIES 32768 /* MQ_PRIO_MAX of the kernel */

#define TRY_EVERY    16	  /* calls of one who always waits */
#define QUICK_CYCLES 3000 /* 1 us or so: it has not waited */

/* In any line, to receive and to send; a cancel may leave one too many. */
static _Atomic uint32_t waiting[2];

/* prepare_timeout() comes before all else. */
static long deadline_of(const struct timespec *user, uint64_t *deadline)
{
	int64_t ns, now = fib_clock_ns(CLOCK_REALTIME);

	*deadline = FIB_NEVER;
	if (!user)
		return 0;
	ns = fib_timespec_ns(user);
	if (ns < 0)
		return ns;
	*deadline = ns > now ? fib_ns_add(fib_now_ns(), (uint64_t)(ns - now)) :
			       fib_now_ns();
	return 0;
}

/* Would the call wait if there were nothing? do_mq_timedsend() and its like */
static bool would_wait(long nr, const long a[6])
{
	bool sends = nr == SYS_mq_timedsend;
	long fl = fib_raw(SYS_fcntl, a[0], F_GETFL);
	size_t len = (size_t)a[2];
	struct {
		long flags, maxmsg, msgsize, curmsgs, reserved[4];
	} attr;

	if (fl < 0 || (fl & O_NONBLOCK) ||
	    (fl & O_ACCMODE) == (sends ? O_RDONLY : O_WRONLY) ||
	    fib_raw(SYS_mq_getsetattr, a[0], 0, &attr))
		return false;
	return sends ? len <= (size_t)attr.msgsize &&
			       (unsigned)a[3] < PRIORITIES :
		       len >= (size_t)attr.msgsize;
}

/* Are others in line for what @p is, with whom this call is to wait? */
static bool is_behind(struct fib_place *p, bool sends, long nr, const long a[6])
{
	struct fib_known *k = p->slot && fib_load(&waiting[sends], relaxed) ?
				      fib_fd_know((int)a[0]) :
				      NULL;

	return k && fib_fd_file(k, p->key) && fib_line_exists(p->key) &&
	       would_wait(nr, a);
}

static long wait_in_line(struct fib_place *p, uint64_t deadline, long nr,
			 const long a[6])
{
	bool sends = nr == SYS_mq_timedsend;
	uint8_t *waits = &fib_self()->io.messages[sends];
	uint64_t began = fib_cycles();
	long r;

	fib_add(&waiting[sends], 1, relaxed);
	r = fib_fd_in_line(p, deadline, nr, a);
	fib_sub(&waiting[sends], 1, relaxed);
	if (fib_cycles() - began < QUICK_CYCLES)
		*waits = 0;
	else if (*waits)
		(*waits)--;
	return r;
}

static long exchange(long nr, const long a[6])
{
	struct timespec passed = { 0, 0 };
	struct fib_place p = { .key = { 0, 0, (uint64_t)nr } };
	bool sends = nr == SYS_mq_timedsend;
	uint8_t *waits = &fib_self()->io.messages[sends];
	uint64_t deadline;
	long r = deadline_of((const struct timespec *)a[4], &deadline);

	if (r)
		return r;
	if (fib_is_above())
		return fib_blocking(nr, a);
	fib_fd_try(&p, (int)a[0]);
	if (*waits && p.slot) {
		/* Behind others it would wait, though it may be refused. */
		p.first = true;
		r = wait_in_line(&p, deadline, nr, a);
		if (r != -FIB_LINE_TAKEN)
			return r;
		/* Anew: the number may be another file's by now. */
		p = (struct fib_place){ .key = { 0, 0, (uint64_t)nr } };
		fib_fd_try(&p, (int)a[0]);
	}
	/* Who came before goes before. */
	if (!is_behind(&p, sends, nr, a)) {
		r = fib_raw(nr, a[0], a[1], a[2], a[3], &passed);
		if (r != -ETIMEDOUT) {
			fib_fd_tried(&p);
			fib_signal_sync_handled(fib_self());
			return r;
		}
	}
	*waits = TRY_EVERY;
	return wait_in_line(&p, deadline, nr, a);
}

long fib_sys_mq_timedsend(int fd, const void *msg, size_t len, unsigned prio,
			  const struct timespec *timeout)
{
	return exchange(SYS_mq_timedsend, (long[6]){ fd, (long)msg, (long)len,
						     prio, (long)timeout });
}

long fib_sys_mq_timedreceive(int fd, void *msg, size_t len, unsigned *prio,
			     const struct timespec *timeout)
{
	return exchange(SYS_mq_timedreceive,
			(long[6]){ fd, (long)msg, (long)len, (long)prio,
				   (long)timeout });
}

long fib_sys_mq_notify(int fd, const void *event)
{
	long r;

	if (!event)
		return fib_raw(SYS_mq_notify, fd, event);
	fib_aside_notice_begins();
	r = fib_raw(SYS_mq_notify, fd, event);
	fib_aside_notice_ends();
	return r;
}
