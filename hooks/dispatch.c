/* The way in: dispatch table, and what happens around every body. */
#include <linux/kvm.h>
#include <linux/pps.h>
#include <linux/prctl.h>
#include <linux/usbdevice_fs.h>
#include <linux/vt.h>
#include <sys/ioctl.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/dispatch.h"
#include "hooks/fd/fd.h"
#include "hooks/futex/futex.h"
#include "hooks/io/io.h"
#include "hooks/process/process.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/uring.h"
#include "regs_arch.h"

/* A call touches three lines of its fiber, of which two are those of a park. */
#define LINE(field) (offsetof(struct fib, field) / 64)
_Static_assert(LINE(call) == LINE(run) && LINE(metered) == LINE(run) &&
		       LINE(io.fd) == LINE(io.stop) &&
		       LINE(io.fd) == LINE(io.waiter) &&
		       LINE(io.fd) == LINE(sig.mask) &&
		       LINE(io.fd) == LINE(sig.pending),
	       "cache lines");

#define FIB_HOOK(nm, params, args, fl)                                         \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm args;                                      \
	}
#include "hooks/hooks.def"

struct entry {
	long (*call)(const long *a);
	unsigned flags;
};

/* Rows of the table, without gaps: ld.so relocates each at the start. */
enum row {
	ROW_NONE,
#define FIB_HOOK(nm, params, args, fl) ROW_##nm,
#include "hooks/hooks.def"
	ROWS
};

static const uint8_t row_of[512] = {
#define FIB_HOOK(nm, params, args, fl) [SYS_##nm] = ROW_##nm,
#include "hooks/hooks.def"
};
_Static_assert(ROWS <= UINT8_MAX + 1, "too many for row_of");

static struct entry table[ROWS] FIB_SEALED = {
#define FIB_HOOK(nm, params, args, fl) [ROW_##nm] = { call_##nm, fl },
#include "hooks/hooks.def"
};

/* NULL: it has no hook. */
static inline const struct entry *entry_of(unsigned nr)
{
	unsigned row = nr < FIB_ARRAY_SIZE(row_of) ? row_of[nr] : ROW_NONE;

	return row ? &table[row] : NULL;
}

/* --- families that the user has left out -------------------------------------- */

/* The call under way, made by the kernel; it holds the worker while it waits. */
static long left_out(const long *a)
{
	return fib_blocking(fib_self()->hook.call, a);
}

static long io_left_out(const long *a)
{
	return fib_io_own(fib_self()->hook.call, a);
}

/*
 * What can be left out: calls of which no other one relies on what the body
 * does. Those that take a signal mask stay, for the mask is the fiber's.
 */
static const struct family {
	const char *name;
	long (*call)(const long *a);
	uint16_t calls[20];
} families[] = {
	{ "io",
	  io_left_out,
	  { SYS_read + 1, SYS_write + 1, SYS_readv + 1, SYS_writev + 1,
	    SYS_sendfile + 1, SYS_recvfrom + 1, SYS_sendto + 1, SYS_recvmsg + 1,
	    SYS_sendmsg + 1, SYS_recvmmsg + 1, SYS_sendmmsg + 1, SYS_accept + 1,
	    SYS_accept4 + 1, SYS_connect + 1 } },
	{ "poll",
	  left_out,
	  { SYS_poll + 1, SYS_select + 1, SYS_epoll_wait + 1 } },
	{ "sleep", left_out, { SYS_nanosleep + 1, SYS_clock_nanosleep + 1 } },
	{ "uring", NULL, { 0 } }, /* runtime/uring.h */
};

bool fib_hooks_leave_out(const char *name, size_t len)
{
	for (size_t i = 0; i < FIB_ARRAY_SIZE(families); i++) {
		const struct family *m = &families[i];
		size_t n = 0;

		while (n < len && m->name[n] == name[n] && m->name[n])
			n++;
		if (n < len || m->name[n])
			continue;
		if (!m->call)
			fib_uring_leave_out();
		/* Numbers are one more than they are: read is 0. */
		for (const uint16_t *c = m->calls; *c; c++)
			table[row_of[*c - 1]].call = m->call;
		return true;
	}
	return false;
}

/* Calls without a row: all but these, says signal(7). */
static bool kernel_restarts(unsigned nr)
{
	switch (nr) {
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_semop:
	case SYS_semtimedop:
		return false;
	}
	return true;
}

static bool has_limit(long fd, int name)
{
	struct timeval tv = { 0, 0 };
	unsigned len = sizeof(tv);

	/* Who may not ask has the call repeated, as most would. */
	return !fib_filtered() &&
	       !fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &tv, &len) &&
	       (tv.tv_sec || tv.tv_usec);
}

/*
 * The kernel was asked, and has been interrupted: sock_intr_errno() of the kernel
 * has no repetition where a socket has a time limit.
 */
static bool is_limited(unsigned nr, const long a[6])
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_preadv2:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
		return has_limit(a[0], SO_RCVTIMEO);
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_connect:
	case SYS_sendfile:
		return has_limit(a[0], SO_SNDTIMEO);
	case SYS_splice:
		return has_limit(a[0], SO_RCVTIMEO) ||
		       has_limit(a[2], SO_SNDTIMEO);
	}
	return false;
}

/*
 * Most drivers have a wait repeated (ERESTARTSYS). These end with EINTR, whatever the
 * handler: kvm_arch_vcpu_ioctl_run(), tty_ioctl() after tty_wait_until_sent(),
 * vt_event_wait_ioctl() and vt_waitactive(), usbfs_start_wait_urb() and proc_reapurb(),
 * pps_cdev_pps_fetch().
 */
static bool ends_anyway(unsigned cmd)
{
	switch (cmd) {
	case KVM_RUN:
	case TIOCSETD:
	case TIOCSBRK:
	case TCSBRK:
	case TCSBRKP:
	case VT_WAITACTIVE:
	case VT_WAITEVENT:
	case USBDEVFS_CONTROL:
	case USBDEVFS_BULK:
	case USBDEVFS_REAPURB:
	case PPS_FETCH:
		return true;
	}
	return false;
}

/* Does the kernel have call @nr, which a handler has interrupted, never repeated? */
static bool never_restarts(unsigned nr, const long a[6])
{
	return nr == SYS_ioctl ? ends_anyway((unsigned)a[1]) :
				 is_limited(nr, a);
}

/* A call that ended early, or a signal that came: what does the caller see? */
static bool __attribute__((noinline))
look_for_signals(struct fib *f, const struct entry *e, const long a[6], long *r)
{
	enum fib_finding finding = FIB_FINDS_NO_CALL;
	bool again, stopped;

	switch (-*r) {
	case FIB_ERESTARTSYS:
		finding = FIB_FINDS_RESTART;
		break;
	case FIB_ERESTARTNOHAND:
		finding = FIB_FINDS_EINTR;
		break;
	case FIB_ERESTARTNOINTR:
		finding = FIB_FINDS_AGAIN;
		break;
	case EINTR:
		finding = FIB_FINDS_EINTR;
		if ((e ? e->flags & FIB_RESTART :
			 kernel_restarts(f->hook.call)) &&
		    !never_restarts(f->hook.call, a))
			finding = FIB_FINDS_RESTART;
		break;
	}
	if (f->hook.restore_mask == FIB_MASK_LATER ||
	    (f->hook.restore_mask == FIB_MASK_READY &&
	     finding == FIB_FINDS_NO_CALL))
		fib_signal_mask_restore(f);
	stopped = fib_stop_ended();
	if (fib_unlikely(fib_stop_came()))
		fib_signal_stop_over(f);
	again = fib_signal_deliver(f, finding) && !stopped;
	if (fib_unlikely(fib_xchg(&f->sig.preempt, false, relaxed)))
		fib_sched_preempted();
	if (finding == FIB_FINDS_NO_CALL)
		return false;
	*r = -EINTR;
	return again;
}

/*
 * A process that sends a signal to this one and then a message, or ends, or
 * gives up a lock, can rely on the order: the kernel interrupts the thread
 * before it tells it of anything else. Here the receiver passes signals on, and
 * takes its time. So a call that may bring such news looks for signals at its
 * end, if there is a handler for any: fib_fd_tells().
 */
static bool tells(const struct entry *e, unsigned nr, const long a[6])
{
	if (!e) {
		switch (nr) {
		case SYS_msgsnd:
		case SYS_msgrcv:
		case SYS_semop:
		case SYS_semtimedop:
		case SYS_pidfd_send_signal:
			return true;
		}
		return false;
	}
	if (!(e->flags & (FIB_TELLS | FIB_TELLS_FD)))
		return false;
	if (e->flags & FIB_TELLS)
		return fib_desc_may_be_shared();
	return fib_fd_tells((int)a[0]);
}

static void __attribute__((noinline))
look_before(struct fib *f, const struct entry *e, unsigned nr, const long a[6])
{
	/* Some are for one thread. */
	if (fib_fd_signals())
		fib_signal_sync(fib_signal_handles(f));
	else if (tells(e, nr, a))
		fib_signal_sync_handled(f);
}

static bool is_restart(long r)
{
	return r <= -FIB_ERESTARTSYS && r >= -FIB_ERESTARTNOHAND;
}

/*
 * A fiber whose calls never have to wait would keep its worker from the others
 * until the monitor comes: 10 ms and more, for a thread that it has just created,
 * say, which a kernel would have begun long before. So now and then it lets
 * them run. No clock is read for that.
 *
 * Where thousands are queued, one that has always something to do would get
 * next to nothing: a server that accepts 9000 connections, 32 calls while each
 * of those that it has is answered once. So it may go on, for one call for each
 * that ran since somebody last had such a turn, and each that is queued now: they
 * wait twice as long at most. If all of them go on like that, none gets more.
 *
 * Who reads from sockets or pipes what somebody sends is one of many, mostly, which are to
 * have as much as he. The kernel may let whoever waits for his answer run at once, and ask
 * again; then he would never wait, and answer that one time and again. So his turn ends
 * when he reads again, as if he had to wait, and has not waited the last time.
 *
 * Nor does the queue of such fibers come to its end, where a worker looks at epoll: others,
 * who do wait, would be told each FIB_POLL_EVERY turns, and have one for all of these. So
 * it is looked at when each of those that were queued the last time has had its turn, or
 * less and less often, where that wakes nobody. The look that comes each FIB_POLL_EVERY turns
 * has the turns counted anew, so that those looks would never come again: where it has woken
 * somebody, they are as often as at first. Who is alone looks as well.
 */
#define TURN_LEAST 2
#define TURN_CALLS 32
#define TURN_VAIN  5 /* TURN_LEAST << that: few enough, for who is alone */

/*
 * Is there somebody at the other end of what the call is to read? A terminal has its lines
 * from a kernel thread: who reads there has to wait.
 */
static bool is_asked(const struct entry *e, const long a[6])
{
	const struct fib_known *k;

	if (!e || !(e->flags & FIB_ASKS))
		return false;
	k = fib_fd_know((int)a[0]);
	return k && !fib_fd_is_prompt(k) && !fib_fd_is_terminal(k);
}

/* Others first, and those of whom epoll tells, if it is time to ask. */
static void end_asked(struct fib_worker *w, struct fib *f, uint32_t queued)
{
	bool looks;

	if (queued && w->came)
		w->turn.vain = 0;
	looks = queued ? w->turns + w->tick > (2 * w->turns_due + 1)
						      << w->turn.vain :
			 f->hook.calls >= TURN_LEAST << w->turn.vain;
	if (looks || w->more) {
		fib_sched_preempted();
		w = fib_worker_self();
		if (w->came || w->more)
			w->turn.vain = 0;
		else if (w->turn.vain < TURN_VAIN)
			w->turn.vain++;
		queued = queued ? 0 : w->came;
	}
	if (queued)
		fib_sched_yield();
	w = fib_worker_self();
	w->turn.asked = fib_load(&w->runs, relaxed);
}

/* Is the turn of @f to end before @e, perhaps? Not if it has waited since it read. */
static inline bool may_end_turn(const struct fib *f, const struct entry *e)
{
	struct fib_worker *w;
	uint32_t run;

	if (fib_unlikely(f->hook.calls % TURN_CALLS == 0))
		return true;
	if (f->hook.calls < TURN_LEAST || !e || !(e->flags & FIB_ASKS))
		return false;
	w = fib_worker_self();
	if (fib_unlikely(!w))
		return false;
	run = fib_load(&w->runs, relaxed);
	if (w->turn.asked == run)
		return true;
	w->turn.asked = run;
	return false;
}

static void __attribute__((noinline))
end_turn(struct fib *f, const struct entry *e, const long a[6])
{
	struct fib_worker *w = fib_worker_self();
	uint32_t queued = fib_load(&w->queued, relaxed);
	uint32_t run = fib_load(&w->runs, relaxed);

	if (w->bound)
		return;
	if (is_asked(e, a)) {
		end_asked(w, f, queued);
		return;
	}
	if (!queued || f->hook.calls % TURN_CALLS)
		return;
	if (run != w->turn.run) {
		w->turn.calls = run - w->turn.run;
		if (w->turn.calls > queued)
			w->turn.calls = queued;
		w->turn.run = run;
	}
	if (w->turn.calls < TURN_CALLS) {
		fib_sched_yield();
		return;
	}
	w->turn.calls -= TURN_CALLS;
}

/* What may happen to a thread between two instructions of its program. */
static void __attribute__((noinline, cold)) hook_chaos(struct fib *f)
{
	FIB_CHAOS_POINT(hook_begin);
	if (FIB_CHAOS_ODDS(hook_yield, 16))
		fib_sched_yield();
	if (FIB_CHAOS_ODDS(late_wake, 32)) {
		struct fib *other =
			fib_at((uint32_t)fib_chaos_number(fib_high_water()));

		if (other)
			fib_wake(other);
	}
	if (FIB_CHAOS_ODDS(idle_kick, 32))
		fib_signal_idle_kick();
}

/* What is known of the call that @f is in. */
static inline void note_call(struct fib *f, unsigned nr, long first,
			     uint8_t door, struct fib_regs *regs,
			     bool restarted)
{
	f->io.fd = (int)first;
	f->hook.door = door;
	f->hook.regs = regs;
	f->hook.call = (uint16_t)nr;
	f->hook.restarted = restarted;
	f->io.part = false;
	f->io.handled = FIB_HANDLED_NONE;
	/* What ends a call while it is away to be made once more has ended it. */
	if (fib_likely(!restarted) ||
	    fib_load(&f->io.stop, relaxed) > FIB_STOP_ENDED)
		fib_store(&f->io.stop, FIB_STOP_NOTHING, relaxed);
}

/* semtimedop() with a limit: a kick ends it, and it is made again for what is left. */
static long sem_limited(struct fib *f, const long a[6])
{
	long b[6] = { a[0], a[1], a[2], a[3] }, r;
	int64_t ns = fib_timespec_ns((void *)a[3]);
	uint64_t deadline = fib_ns_add(fib_now_ns(), ns < 0 ? 0 : (uint64_t)ns);
	struct timespec ts;

	for (;;) {
		r = fib_slow_pass_intr(SYS_semtimedop, b);
		if (r != -EINTR || ns < 0 || !fib_io_goes_on(r, 0))
			return r;
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		b[3] = fib_time_left(deadline, &ts);
	}
}

/*
 * By the kernel, as it is. It may block: a signal that is there goes first. At a site libc
 * has told its handler that a cancel may act; an exported function of ours (a thread with
 * descriptors of its own gets here) has nothing of libc's around it.
 */
static long __attribute__((noinline))
pass(struct fib *f, unsigned nr, const long a[6])
{
	bool cancels = f->hook.door == FIB_DOOR_SYMBOL;
	long r;

	fib_count(passed);
	if (cancels)
		fib_cancel_begin();
	/* Whatever wakes it, do_semtimedop() of ipc/sem.c ends with EINTR. */
	if (nr == SYS_semop || nr == SYS_semtimedop)
		fib_stop_ends();
	if (nr == SYS_semtimedop && a[3])
		return sem_limited(f, a);
	r = fib_io_whole_read(nr, a, fib_slow_pass_intr(nr, a));
	if (r == -EPIPE)
		fib_signal_raise(f, SIGPIPE, true);
	if (r < 0 && cancels)
		fib_cancel_end();
	return r;
}

static inline long make_call(struct fib *f, const struct entry *e, unsigned nr,
			     const long a[6])
{
	long r;

	if (fib_likely(e && !(f->call.plain & e->flags)))
		r = e->call(a);
	else
		r = pass(f, nr, a);
	if (fib_unlikely(r == -EFBIG))
		fib_signal_raise(f, SIGXFSZ, true);
	return r;
}

long fib_hook_call(struct fib *f, unsigned nr, const long a[6], uint8_t door,
		   struct fib_regs *regs)
{
	const struct entry *e = entry_of(nr);
	long r;

	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
	note_call(f, nr, a[0], door, regs, false);
	f->hook.calls++;
	if (may_end_turn(f, e))
		end_turn(f, e, a);
	if (fib_unlikely(fib_chaos_on))
		hook_chaos(f);
	for (;;) {
		r = make_call(f, e, nr, a);
		if (fib_unlikely(fib_signal_handles(f)) && r >= 0)
			look_before(f, e, nr, a);
		FIB_CHAOS_POINT(hook_end);
		/*
		 * From here a signal to this fiber is delivered by its sender's
		 * kick; what came before is seen in attention.
		 */
		if (fib_likely(!fib_load(&f->attention, acquire) &&
			       !f->hook.restore_mask && r != -EINTR &&
			       !is_restart(r) && fib_hook_try_leave(f)))
			return r;
		/* A fork child, or alone: the kernel sees to signals. */
		if (fib_unlikely(!fib_worker_self()))
			return is_restart(r) ? -EINTR : r;
		if (!look_for_signals(f, e, a, &r)) {
			if (fib_unlikely(f->io.claims))
				fib_line_give_up(f);
			fib_hook_leave(f);
			return r;
		}
		/* The same, in a handler: it goes on without us. */
		if (fib_unlikely(!fib_worker_self()))
			return fib_pass(nr, a);
		note_call(f, nr, a[0], door, regs, true);
	}
}

/*
 * A kernel thread that is not ours, a vfork child, or a fork child that has no
 * fibers yet: the kernel answers, but for what shares state with fibers.
 */
static void dispatch_foreign(struct fib_regs *r)
{
	const long a[6] = FIB_REGS_ARGS(r);

	switch (fib_regs_nr(r)) {
	case SYS_clone:
	case SYS_clone3:
		if (fib_clone_foreign(r))
			return;
		break;
	case SYS_exit_group:
		fib_stats_left();
		break;
	case SYS_prctl:
		if (a[0] != PR_SET_SYSCALL_USER_DISPATCH)
			break;
		fib_regs_set_result(r, -EINVAL);
		return;
	case SYS_futex:
		if (fib_load(&fib_symtab.active, relaxed)) {
			fib_regs_set_result(r, fib_futex_foreign(a));
			return;
		}
		break;
	case SYS_futex_wait:
	case SYS_futex_waitv:
		fib_regs_set_result(r,
				    fib_futex_foreign_wait(fib_regs_nr(r), a));
		return;
	}
	fib_regs_set_result(r, fib_pass(fib_regs_nr(r), a));
}

void fib_dispatch(struct fib_regs *r)
{
	struct fib *f = fib_caller();
	const long a[6] = FIB_REGS_ARGS(r);

	if (fib_unlikely(!f)) {
		dispatch_foreign(r);
		return;
	}
	fib_regs_set_result(r, fib_hook_call(f, (unsigned)fib_regs_nr(r), a,
					     FIB_DOOR_SITE, r));
}
