/*
 * A stop and SIGCONT end some calls with EINTR, though no handler runs
 * (signal(7)): epoll_wait(), sigtimedwait(), socket calls with a time limit, and
 * whatever has done a part.
 *
 * Whoever sleeps in the kernel as such a call does can tell: the epoll_wait() of an
 * idle worker ends with EINTR then, the monitor's sleep does (runtime/nap.h), and so does
 * a call of that kind which the kernel makes itself. So it does for a kick, which is
 * noted, and for a tracer, which sends no SIGCONT.
 *
 *	kernel, SIGCONT		worker			monitor
 *	---------------		------			-------
 *	queue it		wakes up: EINTR		wakes up: EINTR
 *	wake all threads	lock			the same; then, as the receiver,
 *				count: received,	lock
 *				  and pending?		  received++
 *				unlock			  dequeue it
 *							unlock
 *
 * The kernel queues SIGCONT before any thread runs again, and all threads have it
 * blocked; so a worker finds it pending, or received. Each SIGCONT has a number,
 * and ends calls once, by whichever of them comes first. If none sleeps at that moment,
 * parked calls go on: all workers run, and the monitor, which is awake for microseconds.
 *
 * The kernel makes all others anew (ERESTARTSYS). That matters to those whose file is
 * O_NONBLOCK by now, whose number is another file's, or nobody's (fib_host_moved()), who
 * wait for a word that is another, for a group that is, by a path, and to poll and its
 * like: these (FIB_STOP_REPEATS) end their wait as if a handler had to run, find none, and
 * are repeated (look_for_signals() of hooks/dispatch.c). Who waits for a child by its id
 * goes on. Where such a wait has ended, and the call has done a part all the same, it
 * waits for no other (was_stopped() of hooks/io/block.c).
 *
 * The kernel ends all these waits at the stop, and begins calls anew at SIGCONT. What was
 * closed under one of them goes in between, and the others find it gone when they begin. So
 * who has come out of its wait yields until all have (fib_signal_stop_over()); for ten
 * milliseconds at most, since one of them may compute by now.
 *
 * What has its time limit while the process is stopped was stopped before that. So a
 * worker that wakes marks all calls, or waits until another one has, before it looks at
 * timers; and who is marked does not mind its own (fib_host_stopped()).
 */
#include "hooks/signal/state.h"
#include "runtime/nap.h"

#define OVER_NS 10000000

static struct fib_lock stop_lock = FIB_LOCK(STOP);
/* The last SIGCONT that has ended calls, and the stop before it. */
static uint32_t told;
static _Atomic uint64_t lasted_ns;
/* Who has an index below that is out of its wait. */
static _Atomic uint32_t out;

/* A fork child has no signals that pend, and no thread that has the lock. */
void fib_sig_stop_init(uint32_t n)
{
	fib_lock_init(&stop_lock, STOP);
	told = n;
}

static bool has_turned(const struct fib *f)
{
	uint8_t stop = fib_load(&f->io.stop, relaxed);

	return stop == FIB_STOP_ENDED || stop == FIB_STOP_REPEATED;
}

/*
 * All are marked before any is woken: what one of these has others call next was not
 * stopped. (One whose call is over already looks for nothing.)
 */
static void end_calls(void)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (f)
			fib_sig_end_call(f);
	}
	fib_store(&out, 0, seq_cst);
	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (f && has_turned(f))
			fib_attention_set(f);
	}
}

static bool all_are_out(void)
{
	uint32_t i = fib_load(&out, seq_cst), n = fib_high_water();

	for (; i < n; i++) {
		const struct fib *f = fib_at(i);

		if (f && has_turned(f))
			break;
	}
	fib_store(&out, i, relaxed);
	return i == n;
}

void fib_signal_stop_over(struct fib *f)
{
	uint64_t end = fib_now_ns() + OVER_NS;

	fib_store(&f->io.stop, FIB_STOP_NOTHING, seq_cst);
	while (!all_are_out() && fib_now_ns() < end) {
		fib_sched_yield();
		fib_raw(SYS_sched_yield); /* for who has another worker */
	}
	/* What ends a call from now on is another stop, or none. */
	fib_lock(&stop_lock);
	if (all_are_out())
		fib_store(&lasted_ns, 0, relaxed);
	fib_unlock(&stop_lock);
}

void fib_signal_look_for_stop(void)
{
	uint32_t now;

	if (fib_filtered())
		return;
	now = fib_signal_continues();
	fib_lock(&stop_lock);
	if ((int32_t)(now - told) > 0) {
		told = now;
		fib_store(&lasted_ns, fib_nap_take_lost_ns(), relaxed);
		end_calls();
	}
	fib_unlock(&stop_lock);
}

uint64_t fib_signal_stop_lasted(void)
{
	return fib_load(&lasted_ns, relaxed);
}

void fib_signal_interrupted(struct fib_worker *w)
{
	_Atomic bool *kicked = w ? &w->sig.kicked : &fib_sig_monitor_kicked;

	if (!fib_xchg(kicked, false, relaxed))
		fib_signal_look_for_stop();
}

long fib_signal_raw_intr(struct fib *f, long nr, const long a[6])
{
	long r;

	fib_store(&f->sig.kicked, false, relaxed);
	if (!fib_host_stop_is_kernels(f))
		return -EINTR;
	r = fib_raw_intr(&f->attention, nr, a);
	if (fib_likely(r != -EINTR) || fib_load(&f->sig.kicked, relaxed))
		return r;
	fib_store(&f->io.stop, FIB_STOP_ENDED, relaxed);
	fib_signal_look_for_stop();
	return r;
}
