/*
 * From the kernel's queue for the process, and from what pends here, to fibers.
 *
 * The receiver (receiver.c) polls a signalfd. A readable signalfd says that something is
 * pending, and takes nothing: each pending signal is dequeued only if some fiber wants it,
 * and sent to that one. What all fibers block stays in the kernel's queue, where sigpending,
 * the program's own signalfd and exec find it, and leaves the signalfd's set, so that poll
 * does not spin: it is unwatched. A fiber that begins to want such a signal forwards it by
 * itself, so that it has been delivered when the call that unblocked it returns:
 *
 *	receiver			fiber
 *	--------			-----
 *	lock				mask = new, or one dequeued
 *	does a fiber want it?		fence
 *	no: unwatched |= bit		unwatched & bit, or locked:
 *	unlock				    lock, look, unlock
 *
 * Who comes to the lock second sees what the other one has done, and who finds
 * it free was first.
 *
 * Before it clears what has gone the receiver asks under the lock what pends, in the kernel or
 * here: a fiber that was given one of several has noted there that more are behind it, and
 * takes them before its call returns. What comes since is watched, or is as its bit is cleared,
 * and the signalfd tells of it. tests/model/receiver.pml has this for spin.
 */
#include "hooks/signal/state.h"
#include "runtime/chaos.h"

static _Atomic uint64_t unwatched;
static struct fib_lock forward_lock = FIB_LOCK(FORWARD);

static uint64_t watchable(void)
{
	return fib_signal_worker_mask();
}

/*
 * Is there a fiber that wants one more? It gets one of a number at a time: while
 * that is still in its queue, the rest stays with the kernel, which counts the
 * overruns of a timer until the timer's signal is dequeued. When the fiber has
 * dequeued its own, it calls fib_signal_rewatch().
 */
static bool wants_one(int sig)
{
	struct fib *f = fib_signal_target(sig);

	return f && !(fib_load(&f->sig.pending, seq_cst) & FIB_SIG(sig)) &&
	       fib_load(&f->sig.merges, seq_cst) != sig;
}

static void note_continue(long sig)
{
	if (sig == SIGCONT)
		fib_store(&fib_sig_continues, fib_signal_continued() + 1,
			  relaxed);
}

uint32_t fib_signal_continues(void)
{
	uint64_t pending = 0;
	uint32_t n;

	fib_lock(&forward_lock);
	fib_raw(SYS_rt_sigpending, &pending, 8);
	n = fib_signal_continued() + !!(pending & FIB_SIG(SIGCONT));
	fib_unlock(&forward_lock);
	return n;
}

void fib_signal_prepare(int sig)
{
	struct timespec now = { 0, 0 };
	uint64_t set;
	long r;

	if (sig == SIGCONT)
		set = FIB_SIG_STOPS;
	else if ((FIB_SIG_STOPS | FIB_SIG(SIGSTOP)) & FIB_SIG(sig))
		set = FIB_SIG(SIGCONT);
	else
		return;
	fib_lock(&forward_lock);
	while ((r = fib_raw(SYS_rt_sigtimedwait, &set, 0, &now, 8)) > 0)
		note_continue(r);
	fib_lock(&fib_sig_lock);
	fib_sig_flush_locked(set);
	fib_unlock(&fib_sig_lock);
	fib_unlock(&forward_lock);
}

/* Those that send to their group in the kernel's place: fib_signal_send_group(). */
static _Atomic uint32_t senders;

/* What comes of that is from the kernel, says kill_pgrp(). */
static void note_sender(siginfo_t *info)
{
	if (fib_likely(!fib_load(&senders, seq_cst)) ||
	    info->si_code != SI_USER || info->si_pid != fib_signal_pid ||
	    !(FIB_SIG(info->si_signo) & FIB_SIG_STOPS))
		return;
	info->si_code = SI_KERNEL;
	info->si_pid = 0;
	info->si_uid = 0;
}

/*
 * What the kernel would have dropped if no worker blocked it, it drops when the action is set,
 * and no more: a timer whose signal is ignored is put by, and not armed again; when it is
 * ignored no longer, the signal comes, late (posixtimer_sig_ignore() of Linux 6.13 and later).
 */
static void drop_ignored_locked(int sig)
{
	if (!fib_signal_timers() || fib_sig_blocks(fib_main_fiber, sig) ||
	    sig == SIGCONT || !fib_sig_timers_drop() ||
	    fib_sig_timers_block(sig))
		return;
	fib_lock(&fib_sig_lock);
	if (fib_sig_is_ignored(sig))
		fib_raw(SYS_rt_sigaction, sig, &fib_sig_act[sig], 0, 8);
	fib_unlock(&fib_sig_lock);
}

/*
 * What the kernel sends of a child is for the process, and pends once (legacy_queue());
 * what was sent to the kernel thread alone comes before it (dequeue_signal()).
 */
static bool is_last(const siginfo_t *info)
{
	return info->si_signo == SIGCHLD && info->si_code > 0 &&
	       !(fib_signal_timer_signals() & FIB_SIG(SIGCHLD));
}

/*
 * False: no other is behind it. @pended: it was blocked until now, and is dropped in its
 * turn if it is ignored.
 */
static bool forward_one_locked(int sig, bool pended)
{
	uint64_t set = FIB_SIG(sig), came = 0;
	struct timespec now = { 0, 0 };
	bool more = true;
	siginfo_t info;

	if (fib_sig_dequeue_process(set, &info, &came) != sig) {
		if (fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
			return false;
		note_continue(sig);
		note_sender(&info);
		more = !is_last(&info);
	}
	if (!fib_sig_send_process(sig, &info, pended, came)) {
		FIB_CHAOS_POINT(signal_pend);
		/* Blocked just now. */
		fib_sig_queue_process(sig, &info, came);
	}
	return more;
}

/*
 * A timer may send a signal that is ignored, or pends already, faster than this loop
 * takes it. So the loop has an end; the signalfd stays readable, and the receiver
 * comes again.
 */
#define AT_ONCE 64

/* From a timer of one thread? Then that has it, if it is still there. */
static bool to_timers_thread(int sig, const siginfo_t *info)
{
	struct fib *f;

	if (!fib_sig_timer_target(info, &f))
		return false;
	if (f)
		fib_signal_send(f, sig, info, false);
	return true;
}

/* To here with those of @set in the kernel, or to their timers' threads; what came here. */
static uint64_t take_here_locked(uint64_t set)
{
	struct timespec now = { 0, 0 };
	uint64_t found = 0;
	siginfo_t info;

	if (fib_likely(!set) || fib_filtered())
		return 0;
	for (int i = 0; i < AT_ONCE; i++) {
		long sig = fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8);

		if (sig <= 0)
			break;
		note_continue(sig);
		note_sender(&info);
		if (to_timers_thread((int)sig, &info))
			continue;
		fib_sig_queue_process((int)sig, &info, 0);
		found |= FIB_SIG(sig);
	}
	return found;
}

/* What a timer sends while the last of it pends, as if it was set anew, has the place of that. */
static void renew_timed_locked(uint64_t set)
{
	take_here_locked(set & fib_sig_timed() & watchable());
}

static void forward_all_locked(int sig, bool pended)
{
	/* Who opens for it just now has not come to the lock yet. */
	pended |= !!(fib_load(&unwatched, relaxed) & FIB_SIG(sig));
	renew_timed_locked(FIB_SIG(sig));
	if (!pended)
		drop_ignored_locked(sig);
	for (int i = 0; i < AT_ONCE; i++) {
		if (!wants_one(sig)) {
			FIB_CHAOS_POINT(signal_unwatch);
			fib_or(&unwatched, FIB_SIG(sig), seq_cst);
			fib_sig_show(sig);
			return;
		}
		if (!forward_one_locked(sig, pended))
			return;
	}
}

static void forward_locked(uint64_t set, bool pended)
{
	for (; set; set &= set - 1)
		forward_all_locked(__builtin_ctzll(set) + 1, pended);
}

/*
 * What timers of one thread sent, and nobody wants, is in the kernel's queue for the
 * process, where only its thread may find it. Of @set all goes to its threads, and what
 * is in between is pending here. (Where a signalfd is to show it, all may find it.)
 */
static void take_timers_locked(uint64_t set)
{
	set &= fib_signal_timer_signals() & watchable() & ~fib_signal_shown();
	/* The receiver does not see them any more. */
	forward_locked(take_here_locked(set), true);
}

void fib_signal_take_timers(uint64_t set)
{
	fib_lock(&forward_lock);
	take_timers_locked(set);
	fib_unlock(&forward_lock);
}

/*
 * Workers do not block the signals of faults, since a fault must reach its
 * handler. So a SIGSEGV that somebody sent comes to the kernel's handler as well,
 * which may have interrupted anything and can take no lock: it posts the signal
 * here, for the receiver. One of each number, as in a queue of the kernel's:
 * reserved says whose posted_info is being written, posted whose is complete.
 */
static _Atomic uint64_t reserved, posted;
static siginfo_t posted_info[FIB_SIGRTMIN] FIB_LARGE;

void fib_sig_post(int sig, const siginfo_t *info)
{
	if (fib_or(&reserved, FIB_SIG(sig), acquire) & FIB_SIG(sig))
		return;
	posted_info[sig] = *info;
	fib_or(&posted, FIB_SIG(sig), release);
	fib_monitor_poke();
}

static void pend_process_locked(int sig, const siginfo_t *info, uint64_t came)
{
	fib_sig_queue_process(sig, info, came);
	forward_locked(FIB_SIG(sig), true);
}

void fib_signal_pend_process(int sig, const siginfo_t *info)
{
	fib_lock(&forward_lock);
	pend_process_locked(sig, info, 0);
	fib_unlock(&forward_lock);
}

void fib_signal_show(struct fib *f, uint64_t set)
{
	fib_lock(&forward_lock);
	fib_sig_shown_add(f, set);
	forward_locked(set & fib_signal_process_pending(), true);
	fib_unlock(&forward_lock);
}

void fib_sig_forward_posted(void)
{
	uint64_t set = fib_xchg(&posted, 0, acquire);

	for (; set; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;
		siginfo_t info = posted_info[sig];

		fib_and(&reserved, ~FIB_SIG(sig), release);
		if (!fib_signal_send_process(sig, &info))
			fib_signal_pend_process(sig, &info);
	}
}

/* Under the lock: two who forward at once might change the order of a queue. */
static void forward(uint64_t set)
{
	if (!set)
		return;
	fib_lock(&forward_lock);
	forward_locked(set, false);
	fib_unlock(&forward_lock);
}

/*
 * What others are forwarding, or have forwarded to a fiber that has not dequeued it yet,
 * still pends: that one may close its mask for it, in a handler. So who opens his looks
 * there as well, before his call returns, and takes what he finds first. Under the lock,
 * for a signal may be between two queues. Who is about to get what a timer of its own sent
 * has the overruns as well.
 *
 *	another one			@f
 *	-----------			--
 *	lock				mask = open
 *	kernel's queue -> a fiber's,	what is in the kernel's? the lock held?
 *	  handed_out, or pending here	handed out, here?
 *	unlock				lock, forward, looks, unlock
 *
 *	mask = closed			the end of the call:
 *	lock				lock
 *	its queue -> here -> @f's	dequeue, of all queues
 *	unlock				unlock
 */
void fib_sig_opened(struct fib *f, uint64_t set)
{
	uint64_t pending = 0;

	if (fib_filtered())
		return;
	fib_raw(SYS_rt_sigpending, &pending, 8);
	pending &= set & fib_signal_worker_mask();
	/* The lock first: what its holder does shows when it is free. */
	if (fib_likely(!pending && !fib_load(&forward_lock.word, acquire) &&
		       !((fib_sig_handed_out() | fib_signal_process_pending()) &
			 set)))
		return;
	fib_lock(&forward_lock);
	if (pending)
		take_timers_locked(pending);
	forward_locked(pending | (fib_signal_process_pending() & set), true);
	f->sig.looks = fib_sig_handed_out() & set;
	fib_unlock(&forward_lock);
}

int fib_sig_dequeue_any(struct fib *f, uint64_t set, siginfo_t *info)
{
	int sig;

	fib_lock(&forward_lock);
	sig = fib_sig_dequeue(f, set, info);
	fib_unlock(&forward_lock);
	return sig;
}

/*
 * A signal that is no real-time one pends once, until it is dequeued (legacy_queue()). One
 * that was dequeued here for a fiber pends on at that one, and the kernel takes the same
 * again: that is dropped when the mask closes for the handler, or a sigwait() accepts
 * it. Until then it is for nobody (merges). (Timers queue theirs in any case: send_sigqueue().
 * What pends behind a timer's is mostly its next one, whose overruns the kernel would tell of
 * from when it is dequeued: that one is left there.)
 */
static void merge_locked(struct fib *f, int sig)
{
	uint64_t set = FIB_SIG(sig) & watchable();
	struct timespec now = { 0, 0 };
	siginfo_t info;

	fib_sig_drop_process(f, sig);
	if (!set || fib_filtered() ||
	    fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
		return;
	note_continue(sig);
	if (info.si_code == SI_TIMER && !to_timers_thread(sig, &info)) {
		fib_sig_queue_process(sig, &info, 0);
		forward_locked(set, true);
	}
}

void fib_sig_close_mask(struct fib *f, const siginfo_t *info, uint64_t mask)
{
	int sig = info->si_signo;

	if (fib_load(&f->sig.merges, relaxed) != sig) {
		fib_store(&f->sig.mask, mask, seq_cst);
		return;
	}
	fib_lock(&forward_lock);
	fib_store(&f->sig.mask, mask, seq_cst);
	fib_store(&f->sig.merges, 0, seq_cst);
	if (sig < FIB_SIGRTMIN && info->si_code != SI_TIMER)
		merge_locked(f, sig);
	fib_unlock(&forward_lock);
}

void fib_sig_await_forward(void)
{
	if (fib_unlikely(fib_load(&forward_lock.word, acquire))) {
		fib_lock(&forward_lock);
		fib_unlock(&forward_lock);
	}
}

/*
 * What has left the kernel's queue was dequeued under the lock; or under the
 * other one, and the process dies of it.
 */
static void await_others(void)
{
	fib_sig_await_forward();
	if (fib_unlikely(fib_load(&fib_sig_lock.word, acquire))) {
		fib_lock(&fib_sig_lock);
		fib_unlock(&fib_sig_lock);
	}
}

long fib_signal_timer_call(int id, long nr, const long a[6])
{
	uint64_t pending = 0;
	long r;

	/* In between nothing leaves the kernel's queue, and what goes off at once is the caller's. */
	fib_lock(&forward_lock);
	if (fib_sig_timer_queued(id))
		take_timers_locked(~0ull);
	r = fib_pass(nr, a);
	if (r == 0)
		fib_sig_timer_set(id, nr == SYS_timer_delete);
	if (!fib_filtered())
		fib_raw(SYS_rt_sigpending, &pending, 8);
	forward_locked(pending & watchable(), false);
	fib_unlock(&forward_lock);
	if (fib_unlikely(fib_load(&posted, relaxed)))
		fib_sig_forward_posted();
	await_others();
	return r;
}

/*
 * The receiver takes some time. A call that has caused a signal, or stopped what
 * sends it, must not return before that signal is with its fiber: it waits here
 * for what others are forwarding, and forwards the rest itself.
 */
void fib_signal_sync(uint64_t set)
{
	uint64_t pending = 0;

	if (fib_unlikely(fib_load(&posted, relaxed)))
		fib_sig_forward_posted();
	/* Under a filter it cannot ask: the receiver comes to it. */
	if (!fib_filtered())
		fib_raw(SYS_rt_sigpending, &pending, 8);
	await_others();
	forward(pending & set & watchable());
}

void fib_signal_send_group(int sig)
{
	struct timespec now = { 0, 0 };
	struct fib *f = fib_self();
	uint64_t own = FIB_SIG(sig) & fib_signal_handles(f);
	siginfo_t info;

	fib_add(&senders, 1, seq_cst);
	fib_lock(&forward_lock);
	fib_raw(SYS_kill, 0, sig);
	/* Who has caused it takes it: others have to be woken. */
	if (fib_raw(SYS_rt_sigtimedwait, &own, &info, &now, 8) == sig) {
		note_sender(&info);
		fib_sig_send(f, sig, &info, f, false, 0);
	}
	fib_unlock(&forward_lock);
	fib_signal_sync(FIB_SIG(sig));
	fib_signal_sync(~0ull); /* what has come in the stop, and ended it */
	fib_sub(&senders, 1, seq_cst);
}

void fib_signal_sync_handled(struct fib *f)
{
	uint64_t set = fib_signal_handles(f);
	struct fib *first = fib_main_fiber;

	/* complete_signal() of the kernel gives it to the first thread, if that takes it. */
	if (first && f != first)
		set &= fib_load(&first->sig.mask, relaxed);
	if (set)
		fib_signal_sync(set);
}

bool fib_signal_is_before(int sig)
{
	uint64_t pending = 0;

	fib_lock(&forward_lock);
	if (!fib_filtered())
		fib_raw(SYS_rt_sigpending, &pending, 8);
	pending |= fib_signal_process_pending();
	fib_unlock(&forward_lock);
	return pending & FIB_SIG(sig);
}

void fib_signal_unwatch(int sig)
{
	fib_or(&unwatched, FIB_SIG(sig), seq_cst);
}

void fib_signal_rewatch(uint64_t set)
{
	uint64_t found;

	fib_fence(seq_cst);
	/* Who holds the lock may have asked before the mask was open, and write it now. */
	if (!fib_load(&forward_lock.word, acquire) &&
	    !(fib_load(&unwatched, relaxed) & set))
		return;
	if (fib_unlikely(fib_filtered())) {
		fib_and(&unwatched, ~set, seq_cst);
		fib_monitor_poke();
		return;
	}
	fib_lock(&forward_lock);
	found = fib_load(&unwatched, relaxed) & set;
	fib_and(&unwatched, ~found, seq_cst);
	forward_locked(found, true);
	fib_unlock(&forward_lock);
	/* The signalfd watches them again. */
	if (found)
		fib_monitor_poke();
}

/*
 * In the fiber's own queue, here, or left in the kernel's for the process? The
 * next one may be in either, and on its way from one to another but for the lock.
 */
int fib_signal_accept(struct fib *f, uint64_t set, siginfo_t *info,
		      bool *process)
{
	struct timespec now = { 0, 0 };
	uint64_t ahead, here, first;
	bool merges = false;
	struct fib *its;
	int sig, tries = 0;

	fib_lock(&forward_lock);
again:
	sig = 0;
	take_timers_locked(set);
	renew_timed_locked(set);
	ahead = fib_sig_ahead(f, set);
	if (tries++ == AT_ONCE)
		ahead &= ~fib_signal_timer_signals();
	here = fib_signal_process_pending() & ahead;
	first = here & FIB_FAULTS ? here & FIB_FAULTS : here;
	if (first)
		ahead = fib_sig_before(ahead, __builtin_ctzll(first) + 1);
	if (ahead)
		sig = (int)fib_raw(SYS_rt_sigtimedwait, &ahead, info, &now, 8);
	if (sig > 0)
		note_sender(info);
	*process = sig > 0 && info->si_code != SI_TKILL;
	/* It has come since. */
	if (sig > 0 && fib_sig_timer_target(info, &its) && its != f) {
		to_timers_thread(sig, info);
		goto again;
	}
	note_continue(sig);
	if (sig > 0 && info->si_code == SI_TIMER)
		fib_sig_timer_dequeued(info);
	if (sig <= 0) {
		sig = fib_signal_dequeue_process(here, info);
		*process = merges = true;
	}
	if (sig <= 0) {
		sig = fib_sig_dequeue(f, set, info);
		*process = merges = fib_load(&f->sig.merges, relaxed) == sig;
		fib_store(&f->sig.merges, 0, seq_cst);
	}
	/* One is enough: another that comes now is forwarded to somebody else. */
	if (sig > 0)
		fib_store(&f->sig.awaited, 0, seq_cst);
	if (merges && sig > 0 && sig < FIB_SIGRTMIN &&
	    info->si_code != SI_TIMER)
		merge_locked(f, sig);
	fib_unlock(&forward_lock);
	return sig;
}

/*
 * What pends stays: the kernel flushes it where it takes an action that ignores it. (But not
 * what is one with what @f handles: merge_locked() would drop it.)
 */
void fib_sig_reset_ignored(struct fib *f, int sig)
{
	uint64_t set = FIB_SIG(sig);

	fib_lock(&forward_lock);
	if (fib_load(&f->sig.merges, relaxed) != sig)
		take_here_locked(set);
	fib_lock(&fib_sig_lock);
	if (fib_sig_act[sig].handler == (uintptr_t)SIG_DFL)
		fib_raw(SYS_rt_sigaction, sig, &fib_sig_act[sig], 0, 8);
	fib_unlock(&fib_sig_lock);
	forward_locked(set & fib_signal_process_pending(), true);
	fib_unlock(&forward_lock);
}

/* On its way it is nowhere: who opens its mask for it looks under the lock. */
void fib_sig_retarget(struct fib *f)
{
	siginfo_t info;
	uint64_t came;

	if (fib_likely(!(fib_load(&f->sig.pending, acquire) &
			 fib_load(&f->sig.mask, relaxed))))
		return;
	fib_lock(&forward_lock);
	while (fib_sig_dequeue_blocked(f, &info, &came))
		pend_process_locked(info.si_signo, &info, came);
	fib_unlock(&forward_lock);
}

void fib_signal_exit(struct fib *f)
{
	uint64_t pending = fib_load(&f->sig.pending, relaxed), came;
	siginfo_t info;
	bool process;

	while (!fib_sig_close(f, &info, &process, &came)) {
		if (!process ||
		    fib_sig_send_process(info.si_signo, &info, false, came))
			continue;
		fib_lock(&forward_lock);
		pend_process_locked(info.si_signo, &info, came);
		fib_unlock(&forward_lock);
	}
	fib_signal_rewatch(pending);
}

uint64_t fib_sig_forward_pending(uint64_t pending)
{
	fib_lock(&forward_lock);
	/* It may have come, and been left, since. */
	if (fib_load(&unwatched, relaxed) & ~pending)
		fib_raw(SYS_rt_sigpending, &pending, 8);
	pending &= watchable();
	fib_and(&unwatched, pending | fib_signal_process_pending(), seq_cst);
	forward_locked(pending, false);
	fib_unlock(&forward_lock);
	return pending;
}

uint64_t fib_sig_watched(void)
{
	return watchable() & ~fib_load(&unwatched, relaxed);
}

void fib_sig_forward_init(void)
{
	fib_store(&unwatched, 0, relaxed);
	fib_store(&reserved, 0, relaxed);
	fib_store(&posted, 0, relaxed);
	fib_store(&senders, 0, relaxed);
	fib_lock_init(&forward_lock, FORWARD);
	fib_sig_stop_init(fib_signal_continued());
}
