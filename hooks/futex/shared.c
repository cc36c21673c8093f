/*
 * Waits that other processes may end: in the kernel, where who wakes counts whom
 * it has woken, each waiter by itself. The first few of a process hold a kernel
 * thread each, which is how a wait begins and ends soonest; all others wait in
 * io_uring's, on one thread (runtime/uring.h), if there is one to be had.
 *
 * Which of the two a wait is in makes no difference to who wakes it: they are in
 * one queue of the kernel's, in the order they came. A fiber that has a kernel thread
 * to itself waits on that.
 */
#include <linux/futex.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/futex/futex.h"
#include "hooks/memory/memory.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/uring.h"

#define FEW 4 /* of the N + 8 kernel threads that a process may have */

static _Atomic int held;

void fib_futex_shared_init(void)
{
	fib_store(&held, 0, relaxed);
}

/* Is it the plain call that the kernel's rules for mistakes have no say in? */
static bool is_plain(const long a[6])
{
	int op = (int)a[1];

	if (op != FUTEX_WAIT &&
	    (op & ~FUTEX_CLOCK_REALTIME) != FUTEX_WAIT_BITSET)
		return false;
	return !((uintptr_t)a[0] & 3) && fib_shared_at((uintptr_t)a[0]) &&
	       !fib_touch32((uint32_t *)a[0]);
}

/* -ENOSYS: it is to be made as it is. */
static long wait_together(const long a[6], uint64_t deadline)
{
	uint32_t bitset = a[1] == FUTEX_WAIT ? ~0u : (uint32_t)a[5], now;
	uint32_t *uaddr = (uint32_t *)a[0];
	struct fib *f = fib_self();
	uint64_t real = FIB_NEVER;
	long r;

	if (a[3] && ((int)a[1] & FUTEX_CLOCK_REALTIME)) {
		r = fib_timespec_ns((const void *)a[3]);
		if (r < 0)
			return r;
		real = (uint64_t)r;
		deadline = FIB_NEVER;
	}
	if (!bitset || fib_copy(&now, uaddr, sizeof(now)))
		return -ENOSYS;
	if (now != (uint32_t)a[2])
		return -EAGAIN;
	fib_cancel_begin();
	f->io.loops /= 2; /* hooks/io/epoll.c */
	fib_stop_repeats();
	r = fib_uring_futex_wait(uaddr, (uint32_t)a[2], bitset, deadline, real,
				 fib_wait_goes_on);
	if (r == -ENOSYS)
		return r;
	if (r != -EINTR)
		fib_signal_sync_handled(f);
	else
		r = a[3] ? -FIB_ERESTARTNOHAND : -FIB_ERESTARTSYS;
	if (r < 0)
		fib_cancel_end();
	return r;
}

/*
 * By itself, on a kernel thread. With a limit a handler ends it whatever its flags, as
 * ERESTART_RESTARTBLOCK of futex_wait() in kernel/futex/waitwake.c does.
 */
static long wait_alone(const long a[6], uint64_t deadline, _Atomic int *count)
{
	long left[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	struct timespec ts;
	long r;

	/* What is repeated has waited for a part of its time. */
	if (a[1] == FUTEX_WAIT && fib_self()->hook.restarted)
		left[3] = fib_time_left(deadline, &ts);
	r = fib_blocking_counted(SYS_futex, left, count);
	return r == -EINTR && a[3] ? -FIB_ERESTARTNOHAND : r;
}

long fib_futex_shared_wait(const long a[6])
{
	uint64_t deadline = FIB_NEVER;
	long r;

	if (fib_futex_deadline((int)a[1], (const void *)a[3], &deadline) ||
	    fib_self()->bound || !fib_uring_allowed() || !is_plain(a))
		return wait_alone(a, deadline, NULL);
	if (fib_add(&held, 1, relaxed) >= FEW ||
	    FIB_CHAOS_ODDS(uring_at_once, 2)) {
		fib_sub(&held, 1, relaxed);
		r = wait_together(a, deadline);
		if (r != -ENOSYS)
			return r;
		fib_add(&held, 1, relaxed);
	}
	return wait_alone(a, deadline, &held);
}
