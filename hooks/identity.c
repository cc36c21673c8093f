/*
 * setuid and its kin: the kernel changes one thread, POSIX says the process.
 *
 * NPTL signals every thread it knows and waits until each has made the call;
 * for fibers it is told that they are gone (ESRCH, hooks/sigsend.c), and makes
 * the call itself in the end, which leads here. The caller's worker makes it
 * first: if the kernel refuses, nothing has happened. Then every other worker
 * and the monitor are kicked, make the same call in the kick's handler, and
 * count themselves done. No worker is born meanwhile (workers_lock), and one
 * that is being born holds that lock until it takes kicks.
 *
 * One change at a time. Where all fibers are dedicated, the common workers run
 * nothing and their identity means nothing: a program with one thread may keep
 * its capabilities (PR_SET_KEEPCAPS), which they do not. Otherwise a worker whose call fails, where the first one's did
 * not, would leave the process half changed: a security hole, so the process
 * aborts, as NPTL makes it. That happens to a program which changes one thread
 * by the system call itself, syscall(SYS_setresuid, ...): such a fiber becomes
 * dedicated.
 */
#include "hooks/signal.h"
#include "preload/arch/x86_64/regs.h"

static struct fib_lock change_lock;
static _Atomic uint32_t current; /* number of the change */
static _Atomic uint32_t waiting; /* workers that have yet to follow */
static long change_nr;
static long change_arg[6];

static bool idle;		 /* no fiber runs on a common worker */
static _Atomic bool failed;	 /* of those that followed, one */
static _Atomic uint32_t monitor; /* the change it made last */

/* Who makes a thread of ours has its identity to give. */
void fib_identity_init(void)
{
	fib_store(&change_lock.word, 0, relaxed);
	fib_store(&monitor, fib_load(&current, relaxed), relaxed);
}

static _Atomic uint32_t *seen_by(struct fib_worker *w)
{
	if (w)
		return &w->identity;
	return fib_raw(SYS_gettid) ==
			       (long)fib_load(&fib_monitor_tid, relaxed) ?
		       &monitor :
		       NULL;
}

void fib_identity_join(struct fib_worker *w)
{
	fib_store(&w->identity, fib_load(&current, acquire), relaxed);
}

void fib_identity_follow(struct fib_worker *w)
{
	uint32_t now = fib_load(&current, acquire);
	_Atomic uint32_t *seen = seen_by(w);

	if (!seen || fib_load(seen, relaxed) == now)
		return;
	fib_store(seen, now, relaxed);
	if (fib_pass(change_nr, change_arg) && ((w && w->bound) || !idle))
		fib_store(&failed, true, relaxed);
	fib_sub(&waiting, 1, release);
}

/* With workers_lock. In doubt there is one: it is born or ends just now. */
static bool no_common_fiber(void)
{
	int n = fib_threads_live();

	for (uint32_t i = 0; i < fib_load(&fib_sched.workers, acquire); i++) {
		struct fib_worker *w = fib_sched.worker[i];
		struct fib *f = w->bound;

		if (f && !fib_load(&w->gone, acquire) &&
		    fib_load(&f->tid, relaxed))
			n--;
	}
	return n <= 0;
}

/* The first thread stays when it is gone, and is still looked at by /proc. */
static bool follows(struct fib_worker *w, struct fib_worker *self)
{
	return w != self && (w->id == 0 || !fib_load(&w->gone, acquire));
}

static void all_others(struct fib_worker *self)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	uint32_t now = fib_load(&current, relaxed) + 1;
	int pid = (int)fib_raw(SYS_getpid);
	uint32_t others = 1; /* the monitor */

	for (uint32_t i = 0; i < n; i++)
		if (follows(fib_sched.worker[i], self))
			others++;
	idle = no_common_fiber();
	fib_store(&waiting, others, relaxed);
	fib_store(&self->identity, now, relaxed);
	fib_store(&current, now, release);
	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = fib_sched.worker[i];

		if (follows(w, self))
			fib_signal_kick(w);
	}
	fib_raw(SYS_tgkill, pid, fib_load(&fib_monitor_tid, relaxed), FIB_KICK);
	while (fib_load(&waiting, acquire))
		fib_raw(SYS_sched_yield);
}

/* abort(3): a handler may have its say first. */
static void abort_process(struct fib *f)
{
	siginfo_t info = { .si_code = SI_TKILL };

	fib_and(&f->sigmask, ~FIB_SIG(SIGABRT), seq_cst);
	fib_signal_send(f, SIGABRT, &info, false);
	fib_signal_deliver(f, &(bool){ false });
	fib_signal_kernel_action(SIGABRT, (uintptr_t)SIG_DFL);
	fib_signal_default(SIGABRT);
}

static bool is_raw(const struct fib_regs *r)
{
	return r && r->rip >= fib_libc.syscall_from &&
	       r->rip < fib_libc.syscall_to;
}

static long change(long nr, const long a[6])
{
	struct fib *f = fib_self();
	struct fib_worker *self = fib_worker_self();
	long r;

	if (is_raw(f->regs))
		return fib_dedicated_call(nr, a);

	fib_lock(&change_lock);
	fib_lock(&fib_sched.workers_lock);
	r = fib_pass(nr, a);
	if (r == 0) {
		change_nr = nr;
		memcpy(change_arg, a, sizeof(change_arg));
		all_others(self);
	}
	fib_unlock(&fib_sched.workers_lock);
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
