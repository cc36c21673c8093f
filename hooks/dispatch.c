/* The way in: dispatch table, and what happens around every body. */
#include <linux/prctl.h>
#include "hooks/hooks.h"
#include "preload/arch/x86_64/regs.h"
#include "runtime/chaos.h"

#define FIB_HOOK0(nm, fl)                                                      \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm();                                         \
	}
#define FIB_HOOK1(nm, t1, a1, fl)                                              \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0]);                                 \
	}
#define FIB_HOOK2(nm, t1, a1, t2, a2, fl)                                      \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0], (t2)a[1]);                       \
	}
#define FIB_HOOK3(nm, t1, a1, t2, a2, t3, a3, fl)                              \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0], (t2)a[1], (t3)a[2]);             \
	}
#define FIB_HOOK4(nm, t1, a1, t2, a2, t3, a3, t4, a4, fl)                      \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0], (t2)a[1], (t3)a[2], (t4)a[3]);   \
	}
#define FIB_HOOK5(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, fl)              \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0], (t2)a[1], (t3)a[2], (t4)a[3],    \
				    (t5)a[4]);                                 \
	}
#define FIB_HOOK6(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, t6, a6, fl)      \
	static long call_##nm(const long *a)                                   \
	{                                                                      \
		return fib_sys_##nm((t1)a[0], (t2)a[1], (t3)a[2], (t4)a[3],    \
				    (t5)a[4], (t6)a[5]);                       \
	}
#include "hooks/hooks.def"
#undef FIB_HOOK0
#undef FIB_HOOK1
#undef FIB_HOOK2
#undef FIB_HOOK3
#undef FIB_HOOK4
#undef FIB_HOOK5
#undef FIB_HOOK6

struct entry {
	long (*call)(const long *a);
	const char *name;
	unsigned flags;
};

#define ENTRY(nm, fl)						  [SYS_##nm] = { call_##nm, #nm, fl },
#define FIB_HOOK0(nm, fl)					  ENTRY(nm, fl)
#define FIB_HOOK1(nm, t1, a1, fl)				  ENTRY(nm, fl)
#define FIB_HOOK2(nm, t1, a1, t2, a2, fl)			  ENTRY(nm, fl)
#define FIB_HOOK3(nm, t1, a1, t2, a2, t3, a3, fl)		  ENTRY(nm, fl)
#define FIB_HOOK4(nm, t1, a1, t2, a2, t3, a3, t4, a4, fl)	  ENTRY(nm, fl)
#define FIB_HOOK5(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, fl) ENTRY(nm, fl)
#define FIB_HOOK6(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, t6, a6, fl)      \
	ENTRY(nm, fl)
static const struct entry table[512] = {
#include "hooks/hooks.def"
};

struct fib_libc fib_libc FIB_SEALED;

const char *fib_call_name(unsigned nr)
{
	return nr < FIB_ARRAY_SIZE(table) ? table[nr].name : NULL;
}

/* Calls without a row: all but these, says signal(7). */
static bool kernel_restarts(unsigned nr)
{
	switch (nr) {
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_io_getevents:
		return false;
	}
	return true;
}

static bool has_limit(long fd, int name)
{
	struct timeval tv = { 0, 0 };
	unsigned len = sizeof(tv);

	/* Who may not ask has the call repeated, as most would. */
	return !fib_filtered() && !fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &tv, &len) &&
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

/* A call that ended early, or a signal that came: what does the caller see? */
static bool __attribute__((noinline))
look_for_signals(struct fib *f, const struct entry *e, const long a[6], long *r)
{
	enum fib_finding finding = FIB_FINDS_NO_CALL;
	bool again;

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
		if ((e && e->call ? e->flags & FIB_RESTART :
				    kernel_restarts(f->call)) &&
		    !is_limited(f->call, a))
			finding = FIB_FINDS_RESTART;
		break;
	}
	if (f->restore_mask == FIB_MASK_LATER ||
	    (f->restore_mask == FIB_MASK_READY && finding == FIB_FINDS_NO_CALL))
		fib_signal_mask_back(f);
	again = fib_signal_deliver(f, finding);
	if (fib_unlikely(fib_xchg(&f->preempt, false, relaxed)))
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
 * end, if there is a handler for any. TCP comes into question once there was a
 * fork; that an unrelated process sends both is not looked after.
 */
static bool __attribute__((noinline))
tells(const struct entry *e, unsigned nr, const long a[6])
{
	struct fib_fd *s;

	if (fib_fd_signals())
		return true;
	if (!e || !e->call) {
		switch (nr) {
		case SYS_mq_timedsend:
		case SYS_mq_timedreceive:
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
		return fib_fd_may_be_shared();
	s = fib_fd_peek((int)a[0]);
	return s && s->kind != FIB_FD_UNKNOWN && s->kind != FIB_FD_ALWAYS &&
	       (s->kind != FIB_FD_TCP || fib_fd_may_be_shared());
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
 */
#define TURN_CALLS 32

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

long fib_hook_call(struct fib *f, unsigned nr, const long a[6], uint8_t door,
		   struct fib_regs *regs)
{
	const struct entry *e = nr < FIB_ARRAY_SIZE(table) ? &table[nr] : NULL;
	long r;

	fib_store(&f->in_hook, 1, relaxed);
	fib_barrier();
	f->door = door;
	f->regs = regs;
	f->call = (uint16_t)nr;
	f->restarted = 0;
	f->part = false;
	if (fib_unlikely(++f->calls % TURN_CALLS == 0) &&
	    fib_load(&fib_worker_self()->queued, relaxed))
		fib_sched_yield();
	if (fib_unlikely(fib_chaos_on))
		hook_chaos(f);
	for (;;) {
		if (fib_likely(e && e->call &&
			       !(f->plain & e->flags))) {
			r = e->call(a);
		} else {
			/* It may block: a signal that is there goes first. */
			fib_count(passed);
			r = fib_raw_intr(&f->attention, nr, a);
			if (r == -EPIPE)
				fib_signal_raised(f, SIGPIPE, true);
		}
		if (fib_unlikely(r == -EFBIG))
			fib_signal_raised(f, SIGXFSZ, true);
		if (fib_unlikely((fib_load(&fib_signal_handled, relaxed) &
				  ~fib_load(&f->sigmask, relaxed)) &&
				 r >= 0 && tells(e, nr, a)))
			fib_signal_catch_up(f);
		FIB_CHAOS_POINT(hook_end);
		/*
		 * From here a signal to this fiber is delivered by its sender's
		 * kick; what came before is seen in attention.
		 */
		if (fib_likely(!fib_load(&f->attention, acquire) &&
			       !f->restore_mask && r != -EINTR &&
			       !is_restart(r))) {
			fib_barrier();
			fib_store(&f->in_hook, 0, relaxed);
			fib_barrier();
			if (fib_likely(!fib_load(&f->attention, acquire)))
				return r;
			fib_store(&f->in_hook, 1, relaxed);
			fib_barrier();
		}
		/* A fork child, or alone: the kernel sees to signals. */
		if (fib_unlikely(!fib_worker_self()))
			return is_restart(r) ? -EINTR : r;
		if (!look_for_signals(f, e, a, &r)) {
			fib_hook_leave(f);
			return r;
		}
		/* The same, in a handler: it goes on without us. */
		if (fib_unlikely(!fib_worker_self()))
			return fib_pass(nr, a);
		f->door = door;
		f->regs = regs;
		f->call = (uint16_t)nr;
		f->restarted = 1;
		f->part = false;
	}
}

void fib_hook_enter(struct fib *f)
{
	fib_store(&f->in_hook, 1, relaxed);
	fib_barrier();
	f->door = FIB_DOOR_SYMBOL;
	f->regs = NULL;
}

/* A kick that comes while in_hook is set is lost: look after each time. */
void fib_hook_leave(struct fib *f)
{
	for (;;) {
		fib_barrier();
		fib_store(&f->in_hook, 0, relaxed);
		fib_barrier();
		if (fib_likely(!fib_load(&f->attention, acquire)))
			return;
		fib_store(&f->in_hook, 1, relaxed);
		fib_barrier();
		fib_signal_deliver(f, FIB_FINDS_NO_CALL);
	}
}

/*
 * A kernel thread that is not ours, a vfork child, or a fork child that has no
 * fibers yet: the kernel answers, but for what shares state with fibers.
 */
static void dispatch_foreign(struct fib_regs *r)
{
	const long a[6] = { (long)r->rdi, (long)r->rsi, (long)r->rdx,
			    (long)r->r10, (long)r->r8,	(long)r->r9 };

	switch (r->rax) {
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
		r->rax = (uint64_t)-EINVAL;
		return;
	case SYS_futex:
		if (fib_load(&fib_symtab.active, relaxed)) {
			r->rax = (uint64_t)fib_futex_foreign(a);
			return;
		}
		break;
	}
	r->rax = (uint64_t)fib_pass((long)r->rax, a);
}

void fib_dispatch(struct fib_regs *r)
{
	struct fib *f = fib_caller();
	const long a[6] = { (long)r->rdi, (long)r->rsi, (long)r->rdx,
			    (long)r->r10, (long)r->r8,	(long)r->r9 };

	if (fib_unlikely(!f)) {
		dispatch_foreign(r);
		return;
	}
	r->rax = (uint64_t)fib_hook_call(f, (unsigned)r->rax, a, FIB_DOOR_SITE,
					 r);
}
