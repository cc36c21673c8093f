/*
 * setuid and its kin: the kernel changes one thread, POSIX says the process.
 *
 * NPTL signals every thread it knows and waits until each has made the call;
 * for fibers it is told that they are gone (ESRCH, hooks/sigcalls/send.c), and makes
 * the call itself in the end, which leads here. The caller's worker makes it
 * first: if the kernel refuses, nothing has happened. Then every other kernel
 * thread of ours, the workers and the monitor, makes the same call in the
 * handler of a kick, and the caller waits for all of them:
 *
 *	caller				another kernel thread
 *	------				---------------------
 *	change_lock			kicked:
 *	current = n, changing	(A)	  the call
 *	look, under workers_lock:	  identity = n		(D)
 *	  for each that has not n  (B)	  progress++, wake
 *	    kick it, once		ends:
 *	unlock				  gone = 1		(E)
 *	all have it: done		  changing? progress++, wake
 *	sleep on progress	(C)	is born:
 *	look again			  has its creator's number
 *
 * - (C) is a futex wait for the value that was read before the look, so what
 *   comes after (B) ends it.
 * - Who ends is not waited for: gone is set before changing is read, and
 *   changing before gone is. Only the first kernel thread stays when it is gone,
 *   and is still looked at by /proc: it follows.
 * - Who is born is cloned under workers_lock, by a thread that has the kick
 *   blocked then, and takes over its number: kernel threads have the identity
 *   of their creator. So a look sees no birth under way, and a child of one
 *   that had yet to follow is found by the look that comes after.
 * - A thread in exec takes no kicks (no_kick), and one in vfork takes its kick
 *   when the child has left: both are waited for, as natively. When exec fails
 *   the thread kicks itself. So workers_lock is held for no longer than a look:
 *   births, the monitor and so the delivery of signals wait for nobody, and the
 *   receiver can end the process meanwhile.
 *
 * tests/model/identity.pml has this, and what goes wrong without each rule.
 *
 * One change at a time. Where all fibers are dedicated, the common workers run
 * nothing and their identity means nothing: a program with one thread may keep
 * its capabilities (PR_SET_KEEPCAPS), which they do not. Otherwise a worker
 * whose call fails, where the first one's did not, would leave the process half
 * changed: a security hole, so the process aborts, as NPTL makes it. That
 * happens to a program which changes one thread by the system call itself,
 * syscall(SYS_setresuid, ...): such a fiber becomes dedicated.
 */
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/process/process.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "runtime/chaos.h"
#include "regs_arch.h"

static struct fib_lock change_lock = FIB_LOCK(IDENTITY);
static _Atomic uint32_t current;  /* number of the change */
static _Atomic bool changing;	  /* somebody waits for progress */
static _Atomic uint32_t progress; /* futex: one more has followed or ended */
static long change_nr;
static long change_arg[6];

static bool idle;		 /* no fiber runs on a common worker */
static _Atomic bool failed;	 /* of those that followed, one */
static _Atomic uint32_t monitor; /* the change it made last */
static uint32_t monitor_asked;	 /* as fib_worker.asked */

/* Who makes a thread of ours has its identity to give. */
void fib_identity_init(void)
{
	fib_lock_init(&change_lock, IDENTITY);
	fib_store(&changing, false, relaxed);
	fib_store(&monitor, fib_load(&current, relaxed), relaxed);
}

static _Atomic uint32_t *seen_by(struct fib_worker *w)
{
	if (w)
		return &w->process.identity;
	return fib_raw(SYS_gettid) ==
			       (long)fib_load(&fib_monitor_tid, relaxed) ?
		       &monitor :
		       NULL;
}

void fib_identity_inherit(struct fib_worker *w)
{
	_Atomic uint32_t *own = seen_by(fib_worker_self());
	uint32_t n = fib_load(own ? own : &current, relaxed);

	fib_store(w ? &w->process.identity : &monitor, n, relaxed);
	*(w ? &w->process.asked : &monitor_asked) = n;
}

static void tell_progress(void)
{
	fib_add(&progress, 1, seq_cst);
	fib_raw(SYS_futex, &progress, FUTEX_WAKE_PRIVATE, 1);
}

void fib_identity_leave(struct fib_worker *w)
{
	FIB_CHAOS_POINT(identity_leave);
	if (fib_load(&changing, seq_cst))
		tell_progress();
}

/* The first thread stays when it is gone, and is still looked at by /proc. */
static bool follows(struct fib_worker *w)
{
	return w->id == 0 || !fib_load(&w->gone, seq_cst);
}

void fib_identity_follow(struct fib_worker *w)
{
	uint32_t now = fib_load(&current, acquire);
	_Atomic uint32_t *seen = seen_by(w);

	if (!seen || (int32_t)(now - fib_load(seen, relaxed)) <= 0 ||
	    (w && !follows(w)))
		return;
	FIB_CHAOS_POINT(identity_follow);
	if (fib_pass(change_nr, change_arg) && ((w && w->bound) || !idle))
		fib_store(&failed, true, relaxed);
	fib_store(seen, now, release); /* (D) */
	tell_progress();
}

/* With workers_lock. In doubt there is one: it is born or ends just now. */
static bool no_common_fiber(void)
{
	int n = fib_threads_live();

	for (uint32_t i = 0; i < fib_load(&fib_sched.workers, acquire); i++) {
		struct fib_worker *w = fib_sched.worker[i];
		struct fib *f = w->bound;

		if (f && !fib_load(&w->gone, acquire) && f->thread.apart &&
		    fib_load(&f->tid, relaxed))
			n--;
	}
	return n <= 0;
}

/* Has everyone the change? Those that have not are asked for it. (B) */
static bool all_have(uint32_t now)
{
	bool all = true;

	fib_lock(&fib_sched.workers_lock);
	for (uint32_t i = 0; i < fib_load(&fib_sched.workers, acquire); i++) {
		struct fib_worker *w = fib_sched.worker[i];

		if (!follows(w) ||
		    fib_load(&w->process.identity, acquire) == now)
			continue;
		all = false;
		if (w->process.asked != now)
			fib_signal_kick(w);
		w->process.asked = now;
	}
	if (fib_load(&monitor, acquire) != now) {
		all = false;
		if (monitor_asked != now)
			fib_raw(SYS_tgkill, fib_raw(SYS_getpid),
				fib_load(&fib_monitor_tid, relaxed), FIB_KICK);
		monitor_asked = now;
	}
	fib_unlock(&fib_sched.workers_lock);
	return all;
}

static void all_others(struct fib_worker *self)
{
	uint32_t now = fib_load(&current, relaxed) + 1;

	fib_lock(&fib_sched.workers_lock);
	idle = no_common_fiber();
	fib_unlock(&fib_sched.workers_lock);
	fib_store(&self->process.identity, now, relaxed);
	fib_store(&changing, true, seq_cst);
	fib_store(&current, now, seq_cst); /* (A) */
	for (;;) {
		uint32_t seen = fib_load(&progress, seq_cst);

		FIB_CHAOS_POINT(identity_look);
		if (all_have(now))
			break;
		fib_raw(SYS_futex, &progress, FUTEX_WAIT_PRIVATE, seen,
			0); /* (C) */
	}
	fib_store(&changing, false, relaxed);
}

/* abort(3): a handler may have its say first. */
static void abort_process(struct fib *f)
{
	siginfo_t info = { .si_code = SI_TKILL };

	fib_and(&f->sig.mask, ~FIB_SIG(SIGABRT), seq_cst);
	fib_signal_send(f, SIGABRT, &info, false);
	fib_signal_deliver(f, FIB_FINDS_NO_CALL);
	fib_signal_force(SIGABRT);
}

static bool is_raw(const struct fib_regs *r)
{
	return r && fib_regs_pc(r) >= fib_libc.syscall_from &&
	       fib_regs_pc(r) < fib_libc.syscall_to;
}

static long change(long nr, const long a[6])
{
	struct fib *f = fib_self();
	long r;

	if (is_raw(f->hook.regs))
		return fib_dedicated_call(nr, a);

	fib_lock(&change_lock);
	r = fib_pass(nr, a);
	if (r == 0) {
		change_nr = nr;
		memcpy(change_arg, a, sizeof(change_arg));
		all_others(fib_worker_self());
	}
	fib_unlock(&change_lock);
	if (fib_unlikely(fib_load(&failed, relaxed)))
		abort_process(f);
	return r;
}

long fib_sys_setuid(int uid)
{
	return change(SYS_setuid, (long[6]){ uid });
}

long fib_sys_setgid(int gid)
{
	return change(SYS_setgid, (long[6]){ gid });
}

long fib_sys_setreuid(int r, int e)
{
	return change(SYS_setreuid, (long[6]){ r, e });
}

long fib_sys_setregid(int r, int e)
{
	return change(SYS_setregid, (long[6]){ r, e });
}

long fib_sys_setresuid(int r, int e, int s)
{
	return change(SYS_setresuid, (long[6]){ r, e, s });
}

long fib_sys_setresgid(int r, int e, int s)
{
	return change(SYS_setresgid, (long[6]){ r, e, s });
}

long fib_sys_setgroups(int n, const void *list)
{
	return change(SYS_setgroups, (long[6]){ n, (long)list });
}
