/*
 * What is pending here: a queue at each fiber, and one for the process. How a
 * fiber comes to look at its queue is in kick.c.
 *
 * There may be thousands in one, as in the kernel's, but of few kinds: a queue is a
 * list of kinds, in the order in which they are dequeued (rank()), and of each kind a
 * list in the order in which they came. Nobody walks along the second one but who takes
 * all of it, or puts one back that another fiber did not want after all:
 *
 *	head -> SIGUSR1, the thread's
 *	         | more
 *	        SIGRTMIN, the thread's -> the next -> the last
 *	         | more                   (next)
 *	        SIGUSR1, the process's
 */
#include <sys/resource.h>
#include "hooks/signal/state.h"
#include "runtime/chaos.h"

static struct fib_siginfo_node *free_nodes;
static _Atomic uint32_t queued;

/*
 * Pending for the process, but not in the kernel: signals that were dequeued there
 * for a fiber which blocked them before it got them. (They cannot be sent again:
 * the kernel lets only a process's first thread pretend to be somebody else.)
 */
static struct fib_siginfo_node *process_queue;
static _Atomic uint64_t process_pending;

/* What no fiber can have pending: all but these. fib_sig_lock. */
static uint64_t ever_queued;

static _Atomic bool any_stale; /* there was one */
static _Atomic bool any_timed; /* there may be one in process_queue */
static uint64_t arrivals;      /* fib_sig_lock */

/* What was sent to the process, and may be in the queue of a fiber. */
static _Atomic uint64_t handed_out;

bool fib_signal_any_queued(void)
{
	return fib_load(&queued, relaxed);
}

/* What the kernel has in its own queues, and of other processes, it alone counts. */
bool fib_signal_one_too_many(void)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };

	fib_raw(SYS_prlimit64, 0, RLIMIT_SIGPENDING, 0, &lim);
	return fib_load(&queued, relaxed) + fib_signal_timers() >= lim.rlim_cur;
}

/* @counted: by RLIMIT_SIGPENDING. Of a timer, that itself is. */
static struct fib_siginfo_node *node_get_locked(bool counted)
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
	n->timer = NULL;
	n->stale = false;
	n->counted = counted;
	fib_add(&queued, counted, relaxed);
	return n;
}

static void node_put_locked(struct fib_siginfo_node *n)
{
	if (n->timer)
		*n->timer = NULL;
	n->next = free_nodes;
	free_nodes = n;
	fib_sub(&queued, n->counted, relaxed);
}

/*
 * As dequeue_signal() and next_signal() of the kernel: what is the thread's own
 * first, then what faults raise, then by number.
 */
static int rank(const struct fib_siginfo_node *n)
{
	return n->info.si_signo +
	       (FIB_SIG(n->info.si_signo) & FIB_FAULTS ? 0 : 64) +
	       (n->process ? 128 : 0);
}

static void put_locked(struct fib_siginfo_node **at, struct fib_siginfo_node *n)
{
	struct fib_siginfo_node *first;

	while (*at && rank(*at) < rank(n))
		at = &(*at)->more;
	first = *at;
	n->next = NULL;
	if (!first || rank(first) != rank(n)) {
		n->more = first;
		n->last = n;
		*at = n;
	} else if (first->last->came < n->came) {
		first->last->next = n;
		first->last = n;
	} else if (n->came < first->came) {
		n->more = first->more;
		n->last = first->last;
		n->next = first;
		*at = n;
	} else {
		while (first->next->came < n->came)
			first = first->next;
		n->next = first->next;
		first->next = n;
	}
}

/* The first of its kind leaves the queue. */
static siginfo_t take_locked(struct fib_siginfo_node **at)
{
	struct fib_siginfo_node *n = *at, *next = n->next;
	siginfo_t info = n->info;

	if (next) {
		next->more = n->more;
		next->last = n->last;
	}
	*at = next ? next : n->more;
	node_put_locked(n);
	return info;
}

/* The first kind of @set, or what ends the list. */
static struct fib_siginfo_node **first_locked(struct fib_siginfo_node **at,
					      uint64_t set)
{
	while (*at && !(FIB_SIG((*at)->info.si_signo) & set))
		at = &(*at)->more;
	return at;
}

/* The same of what was sent to the process. */
static struct fib_siginfo_node **
first_process_locked(struct fib_siginfo_node **at, uint64_t set)
{
	at = first_locked(at, set);
	while (*at && !(*at)->process)
		at = first_locked(&(*at)->more, set);
	return at;
}

static uint64_t set_of(const struct fib_siginfo_node *n)
{
	uint64_t set = 0;

	for (; n; n = n->more)
		set |= FIB_SIG(n->info.si_signo);
	return set;
}

bool fib_signal_wants(struct fib *f, int sig)
{
	uint64_t blocked = fib_load(&f->sig.mask, seq_cst) &
			   ~fib_load(&f->sig.awaited, seq_cst);

	return !(blocked & FIB_SIG(sig));
}

/*
 * What was sent to the process is for who wants it. It may have blocked it since it was
 * chosen, and looked whether something is pending: one sees what the other has written.
 */
static int pend_locked(struct fib *f, int sig, bool process)
{
	fib_or(&f->sig.pending, FIB_SIG(sig), seq_cst);
	FIB_CHAOS_POINT(signal_pend);
	return process && !fib_signal_wants(f, sig) ? -ESRCH : 0;
}

static void unpend_locked(struct fib *f, int sig)
{
	if (!(set_of(f->sig.queue) & FIB_SIG(sig)))
		fib_and(&f->sig.pending, ~FIB_SIG(sig), relaxed);
}

/*
 * posixtimer_send_sigqueue() of the kernel: a timer has one signal, which is queued
 * whatever else of its number is, and while it is, what expires are overruns.
 */
static bool overrun_locked(struct fib_siginfo_node *n, const siginfo_t *info)
{
	long sum;

	if (!n)
		return false;
	sum = n->stale ? info->si_overrun :
			 1l + n->info.si_overrun + info->si_overrun;
	n->info.si_overrun = sum < INT_MAX ? (int)sum : INT_MAX;
	n->stale = false;
	return true;
}

/* That of a timer which signals the process. */
static struct fib_siginfo_node *timed_locked(int id)
{
	struct fib_siginfo_node *kind, *n;

	for (kind = process_queue; kind; kind = kind->more)
		for (n = kind; n; n = n->next)
			if (n->info.si_code == SI_TIMER &&
			    n->info.si_timerid == id)
				return n;
	return NULL;
}

/*
 * posixtimer_deliver_signal() of Linux 6.13 and later: what a timer had sent before
 * it was set anew, or deleted, still pends, and is dropped by who would dequeue it.
 */
static uint64_t drop_stale_locked(struct fib_siginfo_node **at, uint64_t set)
{
	struct fib_siginfo_node **head = at;
	uint64_t dropped = 0;

	while (*(at = first_locked(at, set))) {
		if (!(*at)->stale) {
			at = &(*at)->more;
			continue;
		}
		dropped |= FIB_SIG((*at)->info.si_signo);
		take_locked(at);
	}
	return dropped & ~set_of(*head);
}

uint64_t fib_sig_timed(void)
{
	struct fib_siginfo_node *kind, *n;
	uint64_t set = 0;

	if (fib_likely(!fib_load(&any_timed, relaxed)))
		return 0;
	fib_lock(&fib_sig_lock);
	for (kind = process_queue; kind; kind = kind->more)
		for (n = kind; n; n = n->next)
			if (n->info.si_code == SI_TIMER)
				set |= FIB_SIG(n->info.si_signo);
	fib_store(&any_timed, set != 0, relaxed);
	fib_unlock(&fib_sig_lock);
	return set;
}

static uint64_t ready_locked(struct fib *f, uint64_t set)
{
	uint64_t gone = drop_stale_locked(&f->sig.queue, set);

	if (fib_unlikely(gone))
		fib_and(&f->sig.pending, ~gone, relaxed);
	return fib_load(&f->sig.pending, relaxed) & set;
}

void fib_sig_drop_stale(struct fib *f, uint64_t set)
{
	if (fib_likely(!fib_load(&any_stale, relaxed)))
		return;
	fib_lock(&fib_sig_lock);
	ready_locked(f, set);
	fib_unlock(&fib_sig_lock);
}

void fib_sig_timer_set(int id, bool deleted)
{
	struct fib_siginfo_node **its, *n;

	fib_lock(&fib_sig_lock);
	fib_sig_timer_reset(id);
	its = fib_sig_timer_queued(id);
	n = its ? *its : timed_locked(id);
	if (n && fib_sig_timers_drop()) {
		n->stale = true;
		fib_store(&any_stale, true, relaxed);
	}
	if (n && its && deleted) {
		n->timer = NULL;
		*its = NULL;
	}
	fib_unlock(&fib_sig_lock);
}

/*
 * As sig_ignored() of the kernel: what is ignored and not blocked is dropped where it is
 * sent. What a sigwait() awaits counts as it was before that (real_blocked), and what is sent
 * to the process goes by main's mask, or that of the thread that has made the child, whoever
 * takes it. That is closed for a moment where a thread is created: what comes late to the
 * receiver was sent before that, as a SIGCONT, and would end a call that nobody has stopped.
 */
static bool dropped(const struct fib *f, int sig)
{
	return fib_sig_is_ignored(sig) &&
	       (!fib_sig_blocks(f, sig) ||
		(fib_load(fib_shared(&f->sig.open), relaxed) & FIB_SIG(sig)));
}

int fib_sig_send(struct fib *f, int sig, const siginfo_t *info,
		 const struct fib *named, bool pended, uint64_t came)
{
	bool process = named;
	struct fib_siginfo_node *n, **timer = NULL;
	int r;

	fib_lock(&fib_sig_lock);
	if (!fib_load(&f->tid, relaxed)) {
		fib_unlock(&fib_sig_lock);
		return -ESRCH;
	}
	if (!process && info->si_code == SI_TIMER) {
		timer = fib_sig_timer_queued(info->si_timerid);
		fib_sig_timer_taken(info->si_timerid);
	}
	if (sig == SIGCONT)
		fib_sig_flush_locked(FIB_SIG_STOPS);
	else if (FIB_SIG(sig) & FIB_SIG_STOPS)
		fib_sig_flush_locked(FIB_SIG(SIGCONT));
	if (fib_sig_default_at_once(f, sig)) {
		bool ended = fib_sig_default_of_locked(f, sig, info);

		fib_unlock(&fib_sig_lock);
		if (ended)
			fib_attention_set(f);
		return 0;
	}
	if ((!pended && dropped(named ? named : f, sig)) ||
	    (timer ? overrun_locked(*timer, info) :
		     sig < FIB_SIGRTMIN && (fib_load(&f->sig.pending, relaxed) &
					    FIB_SIG(sig)))) {
		fib_unlock(&fib_sig_lock);
		return 0;
	}
	r = pend_locked(f, sig, process);
	n = r ? NULL : node_get_locked(info->si_code != SI_TIMER);
	/* As the kernel: a signal that does not queue needs no memory. */
	if (!n && !r && sig >= FIB_SIGRTMIN)
		r = -EAGAIN;
	if (r) {
		unpend_locked(f, sig);
		fib_unlock(&fib_sig_lock);
		return r;
	}
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->came = came ? came : ++arrivals;
		n->process = process;
		n->timer = timer;
		if (timer)
			*timer = n;
		put_locked(&f->sig.queue, n);
	}
	ever_queued |= FIB_SIG(sig);
	if (process)
		fib_or(&handed_out, FIB_SIG(sig), seq_cst);
	fib_unlock(&fib_sig_lock);
	if (fib_signal_wants(f, sig))
		fib_attention_set(f);
	return 0;
}

int fib_signal_send(struct fib *f, int sig, const siginfo_t *info, bool process)
{
	const struct fib *named = process ? fib_main_fiber : NULL;

	if (process && !named) /* main has ended */
		named = f;
	return fib_sig_send(f, sig, info, named, false, 0);
}

uint64_t fib_sig_ahead(struct fib *f, uint64_t set)
{
	const struct fib_siginfo_node *best;
	uint64_t ready;

	fib_lock(&fib_sig_lock);
	ready = ready_locked(f, set);
	best = *first_locked(&f->sig.queue, ready);
	if (best && best->process)
		set = fib_sig_before(set, best->info.si_signo);
	else if (ready)
		set = 0;
	fib_unlock(&fib_sig_lock);
	return set;
}

/*
 * What was sent to the process is anybody's until it is dequeued. The first kind of @set
 * that others have in their queues, if it comes before *@at of @f's; *@whose it is. What
 * nobody has any more is not looked for the next time.
 */
static struct fib_siginfo_node **others_locked(struct fib *f, uint64_t set,
					       struct fib_siginfo_node **at,
					       struct fib **whose)
{
	uint64_t left = fib_load(&f->sig.pending, relaxed);
	uint32_t n = fib_high_water();

	set &= fib_load(&handed_out, relaxed);
	for (uint32_t i = 0; set && i < n; i++) {
		struct fib *other = fib_at(i);
		uint64_t has = fib_load(&other->sig.pending, relaxed) & set;
		struct fib_siginfo_node **its;

		if (!has || other == f)
			continue;
		left |= has;
		its = first_process_locked(&other->sig.queue, set);
		if (*its && (!*at || rank(*its) < rank(*at))) {
			at = its;
			*whose = other;
		}
	}
	fib_and(&handed_out, ~set | left, relaxed);
	return at;
}

int fib_sig_dequeue(struct fib *f, uint64_t set, siginfo_t *info)
{
	struct fib_siginfo_node **at;
	struct fib *whose = f;
	uint64_t ready;
	int sig = 0;

	fib_lock(&fib_sig_lock);
	ready = ready_locked(f, set);
	if (!ready && fib_likely(!f->sig.looks))
		goto out;
	at = first_locked(&f->sig.queue, ready);
	if (fib_unlikely(f->sig.looks))
		at = others_locked(f, set, at, &whose);
	if (*at) {
		bool process = (*at)->process;

		/* complete_signal() of the kernel has woken that one. */
		if (whose != f)
			fib_sig_end_call(whose);
		*info = take_locked(at);
		sig = info->si_signo;
		/* The same is not for this fiber until its mask has closed. */
		if (process)
			fib_store(&f->sig.merges, (uint8_t)sig, seq_cst);
		else if (info->si_code == SI_TIMER)
			fib_sig_timer_dequeued(info);
	} else if (ready) { /* there was no memory for it */
		sig = __builtin_ctzll(ready) + 1;
		memset(info, 0, sizeof(*info));
		info->si_signo = sig;
	}
	if (sig)
		unpend_locked(whose, sig);
out:
	fib_unlock(&fib_sig_lock);
	if (fib_unlikely(whose != f))
		fib_attention_set(whose);
	return sig;
}

int fib_signal_dequeue(struct fib *f, uint64_t set, siginfo_t *info)
{
	int sig = fib_sig_dequeue(f, set, info);

	fib_store(&f->sig.merges, 0, seq_cst);
	return sig;
}

void fib_sig_queue_process(int sig, const siginfo_t *info, uint64_t came)
{
	struct fib_siginfo_node *n = NULL;

	fib_lock(&fib_sig_lock);
	if (info->si_code == SI_TIMER ?
		    !overrun_locked(timed_locked(info->si_timerid), info) :
		    sig >= FIB_SIGRTMIN ||
			    !(fib_load(&process_pending, relaxed) &
			      FIB_SIG(sig)))
		n = node_get_locked(info->si_code != SI_TIMER);
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->came = came ? came : ++arrivals;
		n->process = true;
		put_locked(&process_queue, n);
		if (info->si_code == SI_TIMER)
			fib_store(&any_timed, true, relaxed);
		fib_or(&process_pending, FIB_SIG(sig), seq_cst);
	}
	fib_unlock(&fib_sig_lock);
}

/* Those of @set leave @at; returned: the set of what is left. */
static uint64_t drop_locked(struct fib_siginfo_node **at, uint64_t set)
{
	struct fib_siginfo_node **head = at;

	while (*(at = first_locked(at, set)))
		take_locked(at);
	return set_of(*head);
}

/* flush_sigqueue_mask() of the kernel, which does the same to its own queue. */
void fib_sig_flush_locked(uint64_t set)
{
	uint32_t n = fib_high_water();

	if (fib_load(&process_pending, relaxed) & set)
		fib_store(&process_pending, drop_locked(&process_queue, set),
			  seq_cst);
	/* There may be many fibers, and system() ignores two signals. */
	if (!(ever_queued & set))
		return;
	ever_queued &= ~set;
	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (!(fib_load(&f->sig.pending, relaxed) & set))
			continue;
		drop_locked(&f->sig.queue, set);
		fib_and(&f->sig.pending, ~set, relaxed);
	}
}

uint64_t fib_signal_process_pending(void)
{
	return fib_load(&process_pending, seq_cst);
}

const struct fib_siginfo_node *fib_sig_process_queue_locked(void)
{
	return process_queue;
}

int fib_sig_dequeue_process(uint64_t set, siginfo_t *info, uint64_t *came)
{
	struct fib_siginfo_node **at;
	int sig = 0;

	if (!(fib_load(&process_pending, seq_cst) & set))
		return 0;
	fib_lock(&fib_sig_lock);
	drop_stale_locked(&process_queue, set);
	at = first_locked(&process_queue, set);
	if (*at) {
		*came = (*at)->came;
		*info = take_locked(at);
		sig = info->si_signo;
	}
	fib_store(&process_pending, set_of(process_queue), relaxed);
	fib_unlock(&fib_sig_lock);
	return sig;
}

int fib_signal_dequeue_process(uint64_t set, siginfo_t *info)
{
	uint64_t came;

	return fib_sig_dequeue_process(set, info, &came);
}

bool fib_sig_dequeue_blocked(struct fib *f, siginfo_t *info, uint64_t *came)
{
	uint64_t blocked = fib_load(&f->sig.mask, relaxed);
	struct fib_siginfo_node **at;
	bool found;

	fib_lock(&fib_sig_lock);
	at = first_process_locked(&f->sig.queue, blocked);
	found = *at;
	if (found) {
		*came = (*at)->came;
		*info = take_locked(at);
		unpend_locked(f, info->si_signo);
	}
	fib_unlock(&fib_sig_lock);
	return found;
}

uint64_t fib_sig_handed_out(void)
{
	return fib_load(&handed_out, seq_cst);
}

void fib_sig_drop_process(struct fib *f, int sig)
{
	struct fib_siginfo_node **at, *n, *next;

	if (!(fib_load(&f->sig.pending, acquire) & FIB_SIG(sig)))
		return;
	fib_lock(&fib_sig_lock);
	at = first_process_locked(&f->sig.queue, FIB_SIG(sig));
	n = *at;
	if (n) {
		*at = n->more;
		for (; n; n = next) {
			next = n->next;
			if (n->info.si_code == SI_TIMER)
				put_locked(&f->sig.queue, n);
			else
				node_put_locked(n);
		}
		unpend_locked(f, sig);
	}
	fib_unlock(&fib_sig_lock);
}

bool fib_sig_close(struct fib *f, siginfo_t *info, bool *process,
		   uint64_t *came)
{
	bool left;

	fib_lock(&fib_sig_lock);
	fib_store(&f->sig.mask, ~0ull, relaxed);
	left = f->sig.queue;
	if (left) {
		*process = f->sig.queue->process;
		*came = f->sig.queue->came;
		*info = take_locked(&f->sig.queue);
	} else {
		fib_store(&f->sig.pending, 0, relaxed);
		fib_store(&f->tid, 0, seq_cst);
	}
	fib_unlock(&fib_sig_lock);
	return !left;
}

void fib_sig_queues_init(void)
{
	fib_lock_init(&fib_sig_lock, SIGNAL);
	fib_store(&queued, 0, relaxed);
	process_queue = NULL;
	fib_store(&process_pending, 0, relaxed);
	fib_store(&handed_out, 0, relaxed);
	ever_queued = 0;
}

void fib_signal_raised(struct fib *f, uint64_t set)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;
	long sig = fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8);

	if (sig > 0)
		fib_signal_raise(f, (int)sig, false);
}

void fib_signal_raise(struct fib *f, int sig, bool by_kernel)
{
	siginfo_t info;

	if (by_kernel) {
		fib_signal_raised(f, FIB_SIG(sig));
		return;
	}
	memset(&info, 0, sizeof(info));
	info.si_code = SI_USER;
	info.si_pid = fib_signal_pid;
	fib_signal_send(f, sig, &info, false);
}
