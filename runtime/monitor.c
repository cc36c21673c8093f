/*
 * The monitor: one kernel thread beside the workers.
 *
 * Every tick it looks for workers that are stuck in one fiber (a system call
 * that blocks, a page fault, a loop) while no worker is idle; one that is only
 * kept from its processor by other processes is not. Such a worker
 * loses its place among the running ones to a spare, which steals what it has
 * queued; when it comes back it is one too many, and a worker retires (sched.c,
 * check_place). But where a fiber has computed for so long there will be more of it:
 * for a second after the last one those who come back go on beside the others, else
 * whoever waits for a computing fiber's worker would wait for a tick each time.
 * So no fiber waits for another one that never yields, as no
 * kernel thread does, and while kernel threads are to be had. When there are
 * none, the fiber is interrupted as by a signal, and yields: loops and calls that
 * block get the workers in turn.
 *
 * With all workers asleep for some ticks it sleeps as well, in poll; for one only,
 * where they come so seldom that it had a long sleep before. The first worker
 * that leaves its sleep pokes it. fib_monitor_asleep is written and
 * then the workers are looked at again; a worker leaves the idle count and
 * then reads fib_monitor_asleep. A poke rings the scheduler's bell (iom.h) at an
 * epoll descriptor of the monitor's own. Who comes before the monitor has taken the last
 * one rings no other (poked): it sets poked from 0 to 1 and rings, or leaves it at 1; and
 * the monitor takes the ring, sets it to 0, and then looks. So while poked is 1, a ring is
 * there or to come, or a look that sees what was to be told (tests/model/poked.pml). Where
 * a thread may not even do that, or may be killed by a filter, it does not sleep: it looks
 * for errands, and for who is gone, each tick.
 *
 * The host's signal receiver shares the thread (hooks/signal/receiver.c). It runs when its
 * descriptor is readable, or when it is summoned: who pokes for it says so before. Most only
 * wake the monitor, and so leave the kernel's queue of signals alone. Once in a while it
 * looks by itself, at its descriptor above all: the program may have closed that.
 */
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include "runtime/aside.h"
#include "runtime/chaos.h"
#include "runtime/cputime.h"
#include "runtime/doubt.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"
#include "runtime/nap.h"
#include "runtime/sched.h"
#include "runtime/spares.h"
#include "runtime/stack.h"
#include "runtime/trace.h"

#define LOOK_NS	     4000000ull /* between two looks at who waits, in a hurry */
#define STALL_RUNS   16		/* resumes between two looks that are none */
#define STALL_LOOKS  2		/* in a row */
#define QUIET_TICKS  4 /* without a run, before it sleeps; or 1, where */
#define LONG_SLEEP   8000000ull /* its last sleep was as long as that */
#define TRIM_TICKS   200	/* between two looks at old stacks */
#define SUMMON_TICKS 100	/* and at signals */
#define STACK_SIZE   (64ul * 1024)
#define NAP_ROOM     16 /* of which it has FIB_NAP_LEFT */

_Atomic uint32_t fib_monitor_asleep;
_Atomic uint32_t fib_monitor_tid;
static int poke_fd = -1, receiver_fd = -1;
static _Atomic int poked, summons;
static bool receives;
static bool tells;	     /* of stops: there is a page for that (nap.h) */
static _Atomic bool wakeful; /* a worker has been mute */
/* There are two for the moment in which one takes the other's place. */
static struct seat {
	char *stack_end; /* a page that may only be read is there */
	_Atomic int tid_word;
	_Atomic int gate; /* futex: what to do, enum gate */
} seats[2], *seat = &seats[0];
static struct fib_sched *watched;

enum gate {
	GATE_SHUT = 0, /* wait */
	GATE_OPEN = 1, /* all is there: begin */
	GATE_END = 2,  /* the start has failed */
};

void fib_monitor_wake(void)
{
	unsigned use;
	long r;

	fib_store(&fib_monitor_asleep, 0, seq_cst);
	if (fib_host_sends(FIB_ERRAND_POKE))
		return;
	if (fib_xchg(&poked, 1, seq_cst))
		return;
	FIB_CHAOS_POINT(notify);
	use = fib_fd_use();
	r = fib_bell_ring(poke_fd, watched->iom.wakefd);
	/* The scheduler may have had to make another bell. */
	if (r == -ENOENT && fib_bell_hang(poke_fd, watched->iom.wakefd) == 0)
		r = fib_bell_ring(poke_fd, watched->iom.wakefd);
	fib_fd_used(use);
	/* Nobody has heard it: the next one is to try again. */
	if (fib_unlikely(r < 0))
		fib_store(&poked, 0, seq_cst);
}

void fib_monitor_poke(void)
{
	fib_store(&summons, 1, seq_cst);
	fib_monitor_wake();
}

void fib_monitor_bell_moved(int to)
{
	fib_bell_hang(poke_fd, to);
}

void fib_monitor_keep_awake(void)
{
	fib_store(&fib_worker_self()->mute, true, seq_cst);
	fib_store(&wakeful, true, seq_cst);
	fib_monitor_wake();
}

/*
 * Is there one that may not poke, or may be killed at any time? Or was there, and
 * what it had to tell is not told yet? It has said so before it was gone.
 */
static bool has_mute(const struct fib_sched *s)
{
	if (fib_likely(!fib_load(&wakeful, seq_cst)))
		return false;
	for (uint32_t i = 0; i < fib_load(&s->workers, acquire); i++)
		if (fib_load(&s->worker[i]->mute, seq_cst) &&
		    !fib_load(&s->worker[i]->gone, acquire))
			return true;
	return fib_messenger_is_sent();
}

void fib_monitor_urgent(void)
{
	int priority = 99;

	/* What it creates is a worker, with a worker's priority. */
	fib_raw(SYS_sched_setscheduler, fib_load(&fib_monitor_tid, relaxed),
		SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
}

/*
 * Has a worker run a fiber since the last tick, though it sleeps by now? What
 * that one waits for is to be looked after (fib_iom_look()). The workers' idle
 * words were read before: who left idle after that pokes the monitor. One that
 * is bound counts when it stops (next_bound()), and then pokes as well.
 */
static bool has_run(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);

	fib_fence(acquire);
	for (uint32_t i = 0; i < n; i++)
		if (fib_load(&s->worker[i]->runs, relaxed) !=
		    s->worker[i]->seen_runs)
			return true;
	return false;
}

/* One more tick. @quiet: how many before it, in a row, saw nothing run; now. */
static unsigned tick(struct fib_sched *s, unsigned quiet)
{
	static unsigned ticks;

	fib_trace_tick(s);
	quiet = fib_spares_look(s, true) ? 0 : quiet + 1;
	fib_watch(s);
	fib_sched_look(s);
	if (fib_load(&s->lenient, relaxed))
		fib_store(&s->lenient, fib_load(&s->lenient, relaxed) - 1,
			  relaxed);
	if (++ticks % TRIM_TICKS == 0)
		fib_stack_trim(false);
	if (ticks % SUMMON_TICKS == 0)
		fib_store(&summons, 1, relaxed);
	return quiet;
}

/*
 * Have the fibers had no chance to go on since the last look, since others have
 * the processor? Then who waits may not have waited for long, by what has
 * happened. But not for ever: one of them may compute, and others have workers.
 */
static bool is_stalled(struct fib_sched *s, bool busy)
{
	static uint32_t last, skipped;
	uint32_t n = fib_load(&s->workers, acquire), sum = 0;
	bool stalled;

	for (uint32_t i = 0; i < n; i++)
		sum += fib_load(&s->worker[i]->runs, relaxed);
	stalled = busy && sum - last < STALL_RUNS && skipped < STALL_LOOKS;
	skipped = stalled ? skipped + 1 : 0;
	last = sum;
	return stalled;
}

/* How long the monitor may sleep, at *@ts; NULL: until it is poked. */
static struct timespec *sleep_for(bool sleepy, uint64_t period, uint64_t next,
				  struct timespec *ts)
{
	if (!sleepy)
		*ts = fib_timespec(period);
	else if (next == FIB_NEVER)
		return NULL;
	else
		*ts = fib_timespec(fib_ns_left(next));
	return ts;
}

static int make_poke(struct fib_sched *s)
{
	int fd;
	long r;

	if (fib_iom_is_closed(s))
		return -EBADF;
	fd = fib_fd_hide((int)fib_raw(SYS_epoll_create1, EPOLL_CLOEXEC));
	r = fd < 0 ? fd : fib_bell_hang(fd, s->iom.wakefd);
	if (r < 0) {
		fib_fd_unhide(fd);
		return (int)r;
	}
	return fd;
}

/*
 * Where the program cannot be kept from them, it may have closed them by an
 * instruction of its own. Then there are others, or none, where it has closed all of them
 * (fib_iom_is_closed()): it looks at each tick.
 */
static bool has_descriptors(void)
{
	if (poke_fd < 0)
		poke_fd = make_poke(watched);
	return poke_fd >= 0 && (receiver_fd >= 0 || !receives) &&
	       !has_mute(watched);
}

/* It was poked; or the number is another file's by now. */
static void take_poke(struct fib_sched *s)
{
	struct epoll_event ev;
	unsigned use = fib_fd_use();
	long r = fib_raw(SYS_epoll_wait, poke_fd, &ev, 1, 0);

	fib_fd_used(use);
	if (r >= 0)
		return;
	fib_fd_lose(poke_fd);
	poke_fd = make_poke(s);
}

int fib_monitor_receiver(void)
{
	return fib_load(fib_shared(&receiver_fd), relaxed);
}

void fib_monitor_set_receiver(int fd)
{
	receiver_fd = fd;
}

/* A kick ends it, and a stop, which is @said. */
static long nap(struct pollfd p[2], const struct timespec *ts, bool said)
{
	struct timespec tick = { .tv_nsec = FIB_TICK_NS };
	unsigned use = fib_fd_use();
	long n;

	p[0].fd = fib_load(fib_shared(&poke_fd), relaxed);
	p[1].fd = fib_load(fib_shared(&receiver_fd), relaxed);
	n = fib_nap(p, 2, ts, said);
	fib_fd_used(use);
	if (fib_unlikely(n == -EINVAL)) {
		/* No two, says RLIMIT_NOFILE: both are looked at each time. */
		fib_raw(SYS_ppoll, 0, 0, &tick, 0, 8);
		p[0].revents = p[1].revents = POLLIN;
		n = 2;
	}
	return n;
}

/* False: it is not needed. */
static bool pass(struct seat *own)
{
	while (fib_load(&own->gate, acquire) == GATE_SHUT)
		fib_raw(SYS_futex, &own->gate, FUTEX_WAIT_PRIVATE, GATE_SHUT,
			0);
	return fib_load(&own->gate, relaxed) != GATE_END;
}

static void monitor(void *arg)
{
	struct fib_sched *s = watched;
	struct seat *own = arg;
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	unsigned quiet = 0, enough = QUIET_TICKS;
	bool called = false; /* for signals */
	uint64_t last = 0, began = 0, looked = 0, was = FIB_NEVER,
		 next = FIB_NEVER;

	fib_worker_set(NULL);
	if (!pass(own))
		return;
	fib_nap_at(own->stack_end);
	if (fib_host.thread_init)
		fib_host.thread_init(NULL);
	for (;;) {
		bool sleepy = quiet >= enough && has_descriptors();
		uint64_t now, period = fib_load(&fib_iom_hurry, relaxed) ?
					       LOOK_NS :
					       FIB_TICK_NS;
		struct timespec ts;
		bool ticks, summoned;
		long n;

		if (sleepy) {
			fib_store(&s->lenient, 0, relaxed);
			fib_stack_trim(true);
			fib_store(&fib_monitor_asleep, 1, seq_cst);
			fib_fence(seq_cst);
			sleepy = !fib_spares_look(s, false) && !has_run(s);
			if (!sleepy) /* it comes by itself */
				fib_store(&fib_monitor_asleep, 0, relaxed);
			began = fib_now_ns();
		}
		n = nap(p, sleep_for(sleepy, period, next, &ts),
			tells && !called);
		fib_symtab.seen_ns = now = fib_now_ns();
		fib_symtab.seen_cycles = fib_cycles();
		fib_store(&fib_monitor_asleep, 0, relaxed);
		if (sleepy)
			enough = now - began < LONG_SLEEP ? QUIET_TICKS : 1;
		if (fib_unlikely(fib_load(&own->gate, acquire) == GATE_END))
			return;
		if (n > 0 && p[0].revents)
			take_poke(s);
		if (fib_unlikely(n == -EINTR) && fib_host.interrupted)
			fib_host.interrupted(NULL);
		fib_xchg(&poked, 0, seq_cst);
		summoned = fib_xchg(&summons, 0, seq_cst);
		called = n > 0 && (summoned || p[1].revents);
		if (fib_host.receive &&
		    (summoned || called || receiver_fd < 0 || has_mute(s)))
			fib_host.receive();
		now = fib_now_ns();
		ticks = now - last >= FIB_TICK_NS - LOOK_NS / 2;
		if (ticks) {
			quiet = tick(s, quiet);
			last = now;
		} else {
			quiet = fib_spares_look(s, false) ? 0 : quiet;
		}
		/* What a tick has seen run, has_run() does not see any more. */
		if (ticks || now - looked >= period || now >= next) {
			if (!is_stalled(s, quiet == 0))
				next = fib_iom_look(s, now, period,
						    sleepy || was > period);
			looked = now;
			was = period;
		}
	}
}

int fib_monitor_init(struct fib_sched *s, int receiver)
{
	watched = s;
	receiver_fd = receiver;
	receives = receiver >= 0;
	fib_store(&fib_step, "epoll_create1", relaxed);
	poke_fd = make_poke(s);
	fib_fd_movable(&poke_fd);
	fib_fd_movable(&receiver_fd);
	return poke_fd < 0 ? poke_fd : 0;
}

static void open_gate(struct seat *at, int how)
{
	fib_store(&at->gate, how, release);
	fib_raw(SYS_futex, &at->gate, FUTEX_WAKE_PRIVATE, 1);
}

/* Its end: what a nap has left is there, between the stack and the last page. */
static char *make_stack(void)
{
	char *top = fib_thread_stack(STACK_SIZE + FIB_PAGE);

	if (!top)
		return NULL;
	tells = fib_raw(SYS_mprotect, top - FIB_PAGE, FIB_PAGE, PROT_READ) == 0;
	return top - FIB_PAGE;
}

/* Behind the gate, with all signals blocked. */
static long take_seat(struct seat *at)
{
	long tid = -ENOMEM;

	fib_store(&fib_step, "mmap", relaxed);
	if (!at->stack_end)
		at->stack_end = make_stack();
	if (!at->stack_end)
		return tid;
	fib_store(&at->gate, GATE_SHUT, relaxed);
	fib_store(&fib_step, "clone", relaxed);
	tid = fib_thread_clone(FIB_THREAD_FLAGS, at->stack_end - NAP_ROOM,
			       &at->tid_word, monitor, at);
	if (tid > 0 && fib_host.thread_clone)
		fib_host.thread_clone(NULL);
	return tid;
}

int fib_monitor_start(struct fib_sched *s)
{
	long tid;

	tid = take_seat(seat);
	fib_store(&fib_monitor_tid, tid < 0 ? 0 : (uint32_t)tid, relaxed);
	return tid < 0 ? (int)tid : 0;
}

static void leave_seat(struct seat *at)
{
	int tid;

	open_gate(at, GATE_END);
	fib_monitor_wake();
	while ((tid = fib_load(&at->tid_word, acquire)))
		fib_raw(SYS_futex, &at->tid_word, FUTEX_WAIT, tid, 0);
}

int fib_monitor_renew(struct fib_sched *s)
{
	struct seat *old = seat, *at = &seats[old == seats];
	uint64_t all = ~0ull, mask;
	long tid;

	fib_lock(&s->workers_lock);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	tid = take_seat(at);
	if (tid > 0) {
		fib_store(&fib_monitor_tid, (uint32_t)tid, relaxed);
		seat = at;
	}
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	fib_unlock(&s->workers_lock);
	if (tid < 0)
		return (int)tid;
	leave_seat(old);
	open_gate(at, GATE_OPEN);
	return 0;
}

void fib_monitor_go(void)
{
	open_gate(seat, GATE_OPEN);
}

/* The kernel zeroes the word when the thread has left its stack. */
void fib_monitor_end(void)
{
	leave_seat(seat);
	fib_store(&fib_monitor_tid, 0, relaxed);
	fib_fd_unhide(poke_fd);
	fib_monitor_forget();
}

void fib_monitor_forget(void)
{
	poke_fd = receiver_fd = -1;
	fib_store(&seat->tid_word, 0, relaxed);
	fib_store(&wakeful, false, relaxed);
	fib_store(&poked, 0, relaxed);
	fib_store(&summons, 0, relaxed);
	fib_nap_forget();
	fib_aside_forget();
	fib_trace_forget();
	fib_store(&fib_monitor_asleep, 0, relaxed);
}
