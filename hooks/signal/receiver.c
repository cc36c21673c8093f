/*
 * The receiver: signals that come to the process from outside. It lives in the monitor's
 * thread, polls a signalfd, and forwards what that tells of (forward.c); and it takes the
 * default actions, so that a process can always be ended.
 */
#include <features.h>
#include <linux/futex.h>
#include <sys/signalfd.h>
#include "hooks/signal/state.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"

/*
 * Who is under a filter cannot look himself, and has the receiver do so: rounds that
 * were asked for, and the last one of these that has ended. On his own kernel thread
 * he waits as libc does.
 *
 *	fiber				receiver
 *	-----				--------
 *	mask = new			n = asked
 *	mine = ++asked			forwards what is wanted
 *	pokes				answered = n, wakes
 *	waits until answered >= mine
 */
static _Atomic uint32_t asked, answered; /* futex */

void fib_sig_await_receiver(void)
{
	uint32_t mine = fib_add(&asked, 1, seq_cst) + 1, seen;

	fib_monitor_poke();
	while (seen = fib_load(&answered, acquire), (int32_t)(seen - mine) < 0)
		fib_raw(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, seen, 0);
}

static void answer(uint32_t round)
{
	if (fib_likely(round == fib_load(&answered, relaxed)))
		return;
	fib_store(&answered, round, release);
	fib_raw(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static uint64_t run_defaults(void)
{
	uint64_t pending = 0;

	fib_raw(SYS_rt_sigpending, &pending, 8);
	fib_sig_default_process(pending);
	return pending;
}

void fib_receiver_run_defaults(void)
{
	run_defaults();
}

static uint64_t watched; /* the set of the signalfd */

static int make(uint64_t set)
{
	watched = set;
	if (fib_iom_is_closed(&fib_sched))
		return -EBADF;
	return fib_fd_hide((int)fib_raw(SYS_signalfd4, -1, &set, 8,
					SFD_CLOEXEC | SFD_NONBLOCK));
}

void fib_receiver_run(void)
{
	uint32_t round = fib_load(&asked, seq_cst);
	uint64_t pending, set;
	unsigned use;
	int fd;
	long r;

	fib_messenger_hurry();
	pending = run_defaults();
	fib_sig_forward_posted();
	pending = fib_sig_forward_pending(pending);
	answer(round);
	set = fib_sig_watched();
	fd = fib_monitor_receiver();
	/* It is ours still if what it tells of is there. */
	if (fd >= 0 && set == watched && (pending & watched))
		return;
	watched = set;
	use = fib_fd_use();
	r = fd < 0 ? -EBADF :
		     fib_raw(SYS_signalfd4, fd, &set, 8,
			     SFD_CLOEXEC | SFD_NONBLOCK);
	fib_fd_used(use);
	if (r >= 0)
		return;
	/* The program has closed it. */
	fib_fd_lose(fd);
	fd = make(set);
	fib_monitor_set_receiver(fd < 0 ? -1 : fd);
}

int fib_receiver_init(void)
{
	fib_sig_forward_init();
	fib_store(&asked, 0, relaxed);
	fib_store(&answered, 0, relaxed);
	fib_store(&fib_step, "signalfd4", relaxed);
	return make(fib_sig_watched());
}
