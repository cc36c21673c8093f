/*
 * Signals on their way to a fiber: its queue, attention, kicks. What they mean
 * to each other is told in signal.c.
 */
#include "hooks/sigstate.h"
#include "runtime/chaos.h"

static struct fib_siginfo_node *free_nodes;
static _Atomic uint32_t queued;

/*
 * Signals for the process that were taken from the kernel for a fiber which
 * blocked them before it got them. (They cannot be sent again: the kernel lets
 * only a process's first thread pretend to be somebody else.)
 */
static struct fib_siginfo_node *kept;
static _Atomic uint64_t kept_set;

/* What no fiber can have pending: all but these. fib_sig_lock. */
static uint64_t ever_queued;

uint32_t fib_signal_queued(void)
{
	return fib_load(&queued, relaxed);
}

static struct fib_siginfo_node *node_get_locked(void)
{
	struct fib_siginfo_node *n = free_nodes;

	if (!n) {
		unsigned per = 4 * FIB_PAGE / sizeof(*n);

		n = fib_pages_alloc(4 * FIB_PAGE);
		if (!n)
			return NULL;
		for (unsigned i = 1; i < per; i++)
			n[i].next = i + 1 < per ? &n[i + 1] : NULL;
		n->next = &n[1];
	}
	free_nodes = n->next;
	fib_add(&queued, 1, relaxed);
	return n;
}

static void node_put_locked(struct fib_siginfo_node *n)
{
	n->next = free_nodes;
	free_nodes = n;
	fib_sub(&queued, 1, relaxed);
}

/*
 * Not while it is in exec: a kick that was still pending when that is done would
 * find the default action, and end the new program.
 */
void fib_signal_kick(struct fib_worker *w)
{
	int tid;

	fib_lock(&w->kick_lock);
	tid = fib_load(&w->tid, relaxed);
	if (tid && !w->no_kick)
		fib_raw(SYS_tgkill, fib_sig_pid, tid, FIB_KICK);
	fib_unlock(&w->kick_lock);
}

static void kick(struct fib *f)
{
	struct fib_worker *w = fib_load(&f->on, seq_cst);

	FIB_CHAOS_POINT(signal_kick);
	if (w && w != fib_worker_self())
		fib_signal_kick(w);
}

void fib_signal_idle_kick(void)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct fib_worker *w = fib_sched.worker[fib_chaos_number(n)];

	if (w->strict) /* it may do next to nothing, and is never preempted */
		return;
	if (FIB_CHAOS_ODDS(preempt, 2))
		fib_signal_preempt(w);
	else if (!fib_load(&w->gone, relaxed))
		fib_signal_kick(w);
}

/* Repeated after an interruption, these would wait for all of their time again. */
static bool has_relative_timeout(unsigned nr)
{
	return nr == SYS_semtimedop || nr == SYS_io_getevents ||
	       nr == SYS_io_pgetevents;
}

/*
 * As for a signal: code of the program is diverted, a call that blocks in the
 * kernel ends with EINTR and is repeated, since no handler runs. In between the
 * fiber yields. Without attention: a wait of ours goes on. Too late, this costs
 * the fiber a yield at another time.
 */
void fib_signal_preempt(struct fib_worker *w)
{
	struct fib *f = __atomic_load_n(&w->cur, __ATOMIC_RELAXED);

	if (!f || fib_load(&w->gone, relaxed) ||
	    (fib_load(&f->in_hook, relaxed) && has_relative_timeout(f->call)))
		return;
	fib_store(&f->preempt, true, seq_cst);
	fib_signal_kick(w);
}

void fib_signal_attention(struct fib *f)
{
	fib_store(&f->attention, 1, seq_cst); /* (A) */
	FIB_CHAOS_POINT(attention);
	fib_wake(f);
	kick(f);
}

/* It may be gone by now, and another thread in its place. */
void fib_signal_cancelled(struct fib *f, int tid)
{
	bool same;

	fib_lock(&fib_sig_lock);
	same = fib_load(&f->tid, relaxed) == tid;
	if (same)
		fib_store(&f->cancelled, 1, seq_cst);
	fib_unlock(&fib_sig_lock);
	if (same)
		fib_signal_attention(f);
}

bool fib_signal_accepts(struct fib *f, int sig)
{
	uint64_t blocked = fib_load(&f->sigmask, seq_cst) &
			   ~fib_load(&f->sigwait, seq_cst);

	return !(blocked & FIB_SIG(sig));
}

int fib_signal_send(struct fib *f, int sig, const siginfo_t *info, bool process)
{
	struct fib_siginfo_node *n, **at;

	fib_lock(&fib_sig_lock);
	if (!fib_load(&f->tid, relaxed)) {
		fib_unlock(&fib_sig_lock);
		return -ESRCH;
	}
	if (sig == SIGCONT)
		fib_sig_flush_locked(FIB_SIG_STOPS);
	else if (FIB_SIG(sig) & FIB_SIG_STOPS)
		fib_sig_flush_locked(FIB_SIG(SIGCONT));
	if (fib_sig_acts_now(f, sig)) {
		fib_sig_default_locked(sig, info);
		fib_unlock(&fib_sig_lock);
		return 0;
	}
	if ((fib_signal_accepts(f, sig) && fib_sig_is_ignored(sig) &&
	     !(fib_load(&f->sigwait, relaxed) & FIB_SIG(sig))) ||
	    (sig < FIB_SIGRTMIN &&
	     (fib_load(&f->sigpend, relaxed) & FIB_SIG(sig)))) {
		fib_unlock(&fib_sig_lock);
		return 0;
	}
	n = node_get_locked();
	/* As the kernel: a signal that does not queue needs no memory. */
	if (!n && sig >= FIB_SIGRTMIN) {
		fib_unlock(&fib_sig_lock);
		return -EAGAIN;
	}
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->process = process;
		n->next = NULL;
		for (at = &f->sigqueue; *at; at = &(*at)->next)
			;
		*at = n;
	}
	ever_queued |= FIB_SIG(sig);
	fib_or(&f->sigpend, FIB_SIG(sig), seq_cst);
	fib_unlock(&fib_sig_lock);
	if (fib_signal_accepts(f, sig))
		fib_signal_attention(f);
	return 0;
}

/* As next_signal() of the kernel: what is the thread's own first, by number. */
static int rank(const struct fib_siginfo_node *n)
{
	return n->info.si_signo + (n->process ? 64 : 0);
}

int fib_signal_take(struct fib *f, uint64_t set, siginfo_t *info)
{
	struct fib_siginfo_node **at, **best = NULL, *n;
	uint64_t ready, rest = 0;
	int sig = 0;

	fib_lock(&fib_sig_lock);
	ready = fib_load(&f->sigpend, relaxed) & set;
	if (!ready)
		goto out;
	for (at = &f->sigqueue; *at; at = &(*at)->next)
		if ((FIB_SIG((*at)->info.si_signo) & ready) &&
		    (!best || rank(*at) < rank(*best)))
			best = at;
	if (best) {
		n = *best;
		*best = n->next;
		*info = n->info;
		node_put_locked(n);
		sig = info->si_signo;
	} else { /* there was no memory for it */
		sig = __builtin_ctzll(ready) + 1;
		memset(info, 0, sizeof(*info));
		info->si_signo = sig;
	}
	for (n = f->sigqueue; n; n = n->next)
		rest |= FIB_SIG(n->info.si_signo);
	if (!(rest & FIB_SIG(sig)))
		fib_and(&f->sigpend, ~FIB_SIG(sig), relaxed);
out:
	fib_unlock(&fib_sig_lock);
	return sig;
}

void fib_signal_keep(int sig, const siginfo_t *info)
{
	struct fib_siginfo_node *n = NULL, **at;

	fib_lock(&fib_sig_lock);
	if (sig >= FIB_SIGRTMIN ||
	    !(fib_load(&kept_set, relaxed) & FIB_SIG(sig)))
		n = node_get_locked();
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->process = true;
		n->next = NULL;
		for (at = &kept; *at; at = &(*at)->next)
			;
		*at = n;
		fib_or(&kept_set, FIB_SIG(sig), seq_cst);
	}
	fib_unlock(&fib_sig_lock);
}

/* Those of @set leave @at; returned: the set of what is left. */
static uint64_t drop_locked(struct fib_siginfo_node **at, uint64_t set)
{
	struct fib_siginfo_node *n;
	uint64_t rest = 0;

	while ((n = *at)) {
		if (FIB_SIG(n->info.si_signo) & set) {
			*at = n->next;
			node_put_locked(n);
			continue;
		}
		rest |= FIB_SIG(n->info.si_signo);
		at = &n->next;
	}
	return rest;
}

/* flush_sigqueue_mask() of the kernel, which does the same to its own queue. */
void fib_sig_flush_locked(uint64_t set)
{
	uint32_t n = fib_high_water();

	if (fib_load(&kept_set, relaxed) & set)
		fib_store(&kept_set, drop_locked(&kept, set), seq_cst);
	/* There may be many fibers, and system() ignores two signals. */
	if (!(ever_queued & set))
		return;
	ever_queued &= ~set;
	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (!(fib_load(&f->sigpend, relaxed) & set))
			continue;
		drop_locked(&f->sigqueue, set);
		fib_and(&f->sigpend, ~set, relaxed);
	}
}

uint64_t fib_signal_kept_set(void)
{
	return fib_load(&kept_set, seq_cst);
}

int fib_signal_kept(uint64_t set, siginfo_t *info)
{
	struct fib_siginfo_node **at, *n;
	uint64_t now = 0;
	int sig = 0;

	if (!(fib_load(&kept_set, seq_cst) & set))
		return 0;
	fib_lock(&fib_sig_lock);
	for (at = &kept; (n = *at);) {
		if (!sig && (FIB_SIG(n->info.si_signo) & set)) {
			sig = n->info.si_signo;
			*info = n->info;
			*at = n->next;
			node_put_locked(n);
			continue;
		}
		now |= FIB_SIG(n->info.si_signo);
		at = &n->next;
	}
	fib_store(&kept_set, now, relaxed);
	fib_unlock(&fib_sig_lock);
	return sig;
}

static bool take_blocked(struct fib *f, siginfo_t *info)
{
	uint64_t blocked = fib_load(&f->sigmask, relaxed), rest = 0;
	struct fib_siginfo_node **at, *n, *found = NULL;

	if (fib_likely(!(fib_load(&f->sigpend, acquire) & blocked)))
		return false;
	fib_lock(&fib_sig_lock);
	for (at = &f->sigqueue; (n = *at);) {
		if (!found && n->process &&
		    (FIB_SIG(n->info.si_signo) & blocked)) {
			found = n;
			*info = n->info;
			*at = n->next;
			node_put_locked(n);
			continue;
		}
		rest |= FIB_SIG(n->info.si_signo);
		at = &n->next;
	}
	if (found && !(rest & FIB_SIG(info->si_signo)))
		fib_and(&f->sigpend, ~FIB_SIG(info->si_signo), relaxed);
	fib_unlock(&fib_sig_lock);
	return found;
}

void fib_signal_give_back(struct fib *f)
{
	siginfo_t info;

	while (take_blocked(f, &info))
		fib_signal_hold(info.si_signo, &info);
}

void fib_signal_exit(struct fib *f)
{
	uint64_t pending = fib_load(&f->sigpend, relaxed);
	struct fib_siginfo_node *n;

	for (;;) {
		siginfo_t info;
		bool process;

		fib_lock(&fib_sig_lock);
		fib_store(&f->sigmask, ~0ull, relaxed);
		n = f->sigqueue;
		if (!n) {
			fib_store(&f->sigpend, 0, relaxed);
			fib_store(&f->tid, 0, seq_cst);
			fib_unlock(&fib_sig_lock);
			fib_signal_recheck(pending);
			fib_work_exit(f);
			return;
		}
		f->sigqueue = n->next;
		info = n->info;
		process = n->process;
		node_put_locked(n);
		fib_unlock(&fib_sig_lock);
		if (process)
			fib_signal_route(info.si_signo, &info);
	}
}

void fib_signal_queues_init(void)
{
	fib_store(&fib_sig_lock.word, 0, relaxed);
	fib_store(&queued, 0, relaxed);
	kept = NULL;
	fib_store(&kept_set, 0, relaxed);
	ever_queued = 0;
}
