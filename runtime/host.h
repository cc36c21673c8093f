/*
 * The seam: what the engine takes from its host.
 *
 * runtime/ is the engine alone: fibers, switch, scheduler, timers, IOManager,
 * futexes, stacks, monitor. It runs in one of two hosts: the preload (hooks/),
 * whose fibers are the threads of a program that knows nothing of it, and libfib
 * (libfib/), whose fibers a program makes. Nothing in runtime/ asks which; what
 * differs stands in six headers, which are found by include path (-Ihooks/host,
 * -Ilibfib/host). Each completes one header of the engine, which includes it at
 * its end (base.h and san.h: first), so it may use what that header declares.
 * Where one host does nothing its function is empty, and costs nothing. A host
 * below libc includes runtime/bare.h as well, and has the files linked that it
 * names; what these alone ask of it is marked (bare).
 *
 * For a third host: a folder with these six, and, where it wants to be called,
 * a struct fib_host.
 *
 * fib_host_base.h	completes base.h: macros alone
 *	FIB_SEALED, FIB_LARGE, FIB_START, FIB_START_LAST, FIB_EXPORTED
 *				attributes of data
 *	fib_one_thread()	nobody comes between a load and a store
 *	fib_host_late(turns)	the caller has waited for one lock for so many
 *				turns of 100 ms; 0: it has it now. A process that
 *				was stopped meanwhile has waited one turn
 *	fib_call(nr, ...)	a call that a layer below may have to see
 *	FIB_HOST_STDERR		fib_stderr has been noted: fib_panic()
 *	FIB_HOST_CPU_TIME	fibers' CPU time is counted: cputime.h
 *	FIB_HOST_TRACES		events are written for who asks: trace.h (bare)
 *	FIB_HOST_ADDS_COUNTS	who reads counters adds those of workers: sched.h
 *	FIB_ASAN, FIB_TSAN	defined in a build with that sanitizer
 *
 * fib_host_fields.h	completes fiber.h and those above it: types, and the
 *			members that the engine's structs get
 *	FIB_INDEX_BITS		how many fibers there may be
 *	FIB_HOST_FIBER_FIRST	of struct fib, on the line that a park touches:
 *				16 bytes at most
 *	FIB_HOST_FIBER_SECOND	and at the beginning of the next one,
 *	FIB_HOST_FIBER_HOT	and at its end: 2 bytes at most
 *	FIB_HOST_FIBER		and the rest
 *	FIB_HOST_WORKER_FIRST, FIB_HOST_WORKER	of struct fib_worker
 *	FIB_HOST_SCHED, FIB_HOST_FD, FIB_HOST_IO, FIB_HOST_TIMER
 *				of fib_sched, fib_fd, fib_io, fib_timer
 *
 * fib_host_self.h	completes sched.h, by way of this header
 *	fib_host		struct fib_host, below
 *	FIB_HOST_SCHEDULER	the only one, or NULL
 *	fib_sched_of(x)		whose a worker, a fiber, a descriptor's slot is
 *	fib_sched_here()	the caller's; workers and fibers only
 *	fib_worker_self()	the worker that this kernel thread is, or NULL
 *	fib_worker_set(w)	it is @w from now on
 *	fib_self()		the calling fiber, or NULL
 *	fib_top_of(f)		what runs on the stack that @f is at
 *	fib_errno_save(), fib_errno_restore()	around a switch
 *	fib_runq_alone(s)	@s has one worker, and never gets another
 *	fib_filtered()		the caller's is under a seccomp filter
 *	fib_host_sends(errand)	so it was sent to the messenger; true then (bare)
 *	fib_host_summoned(w)	@w is to answer: sched.h
 *	fib_host_attention(f)	@f is to leave its waits: by its attention
 *	fib_host_stopped(f)	and was, before its time was over; it has attention
 *	fib_host_call_of(f)	the number of the call that @f is in (bare)
 *	fib_host_has_tsc(w)	@w may read the time-stamp counter
 *	fib_host_prefetch(f)	@f is the next to run, and cold
 *	fib_host_renew(f)	@f begins a new life; only what lies before its
 *				run has to be cleared
 *	fib_host_shield(f)	no signal is for this one (bare)
 *	fib_host_progress(f)	a number that changes as @f goes on (bare)
 *	fib_host_in_runtime(w, f)	and does not compute for the program (bare)
 *
 * fib_host_timer.h	completes timer.h
 *	fib_host_heap(w)	where a fiber on @w arms its timers
 *	fib_host_fire(t)	its time has come; under the heap's lock
 *
 * fib_host_iom.h	completes iom.h
 *	fib_host_fd_init(s, sched)	a new slot
 *	fib_host_waiter(f, own)	where the caller @f waits by fib_io_park(): @own, on
 *				its stack, or somewhere else
 *	fib_host_prefetch_waiter(s)	an edge is going to wake the first there
 *	fib_host_holds(w)	may the fiber of worker @w have a try under way that holds
 *				its file? Another thread asks
 *	fib_host_moved(w)	the number is closed, and @w stays with the file;
 *				under the slot's lock
 *	fib_host_control(s, op, ev)	epoll_ctl(2)
 *	fib_host_fd_event(s, events, urgent_alone)	an edge; under its lock
 *	fib_host_woke(s)	a worker leaves its sleep
 *	fib_host_bell_moved(to)	wakefd has another number as well now
 *	fib_host_sleep(nr, ...)	the call that a worker sleeps in
 *	fib_host_poll(w, p, left)	and the one of bound @w for a file; from its
 *				bound_ready, or fib_host_end_poll(w), on it does
 *				not sleep
 *	fib_host_call_may_block(nr, fd, a)	a call after a poll said yes
 *	fib_host_asks(w)	@w asks about its doubts: doubt.h
 *
 * fib_host_loop.h	completes runq.h, for the files of the scheduler
 *	fib_host_worker_init(s, w)	a new worker,
 *	fib_host_worker_stack(s, w)	what its kernel thread needs: false, no memory
 *	fib_host_worker_begins(w, bound)	it is for @bound, or for all (NULL)
 *	fib_host_thread_start(w)	a kernel thread that calls
 *				fib_worker_main(@w): 0 or -errno
 *	fib_host_thread_begins(w), fib_host_thread_ends(w)	what this does
 *				first, before it waits at the gate, and last
 *	fib_host_thread_join(w)	until it has ended
 *	fib_host_loop_begins(w), fib_host_loop_ends(w)	around the loop of one
 *				that was there: fib_worker_here(). The latter
 *				does not return, if the loop does
 *	fib_host_answer(w)	@w was summoned
 *	fib_host_queue_alone(f), fib_host_queue(s, w, f)	@f may run: true,
 *				if the host has queued it. The first comes before
 *				anything else is looked at
 *	fib_host_pop(w, before)	a fiber that only the host knows of, before the
 *				worker's own queue is looked at, or after
 *	fib_host_sleeper_has_work(w)	there is one, and @w sleeps
 *	fib_host_notifies(s)	a sleeping worker is to be woken: true, the host
 *				sees to it
 *	fib_host_at_end(s)	nothing will ever come any more
 *	fib_host_idles(w)	@w is going to sleep
 *	fib_host_deadline(s), fib_host_run_timers(s, now)	timers of no worker
 *	fib_host_caller(&w)	the calling fiber, and its worker where that
 *				costs nothing
 *	fib_host_park(w, f), fib_host_yield(w, f)	true: the host has done it
 *	fib_host_exit()		returns, if not
 *	fib_host_vectors(f)	those that are live where @f parks
 *	fib_host_runs_others(w)	@w takes what comes from outside
 *	fib_host_own_turn(w, f)	the next one after @f, which yields, is from @w's own
 *				queue, and @f goes there
 *	fib_host_prepare(w, f)	@f is about to be run: false, not now
 *	fib_host_resumes(w, f)	it is run
 *	fib_host_landed(f)	first thing on its stack after a switch
 *	fib_host_exited(w, f)	it has left its stack for good
 *	fib_host_fiber_gone(f)	the same, where its thread was killed (bare)
 */
#ifndef FIB_RUNTIME_HOST_H
#define FIB_RUNTIME_HOST_H

struct fib;
struct fib_fd;
struct fib_worker;

/* What fib_host.late() says. */
enum fib_late {
	FIB_LATE_AGAIN = 1, /* ask again: it may be otherwise then */
	FIB_LATE_NEWS = 2,  /* who waits is to try again */
	FIB_LATE_SOON = 4,  /* within 10 ms, while the wait is young */
};

/*
 * Calls upward, off the hot path but for prefetch; all may be NULL. It is a
 * constant, in memory that is for reading alone: who could write it would run
 * code of his in the monitor.
 */
struct fib_host {
	/* On the worker's stack, after the fiber has left its own for good. */
	void (*fiber_exit)(struct fib *f);
	/*
	 * A kernel thread of ours, @w's or the monitor's (NULL): to be cloned
	 * from the caller's, with signals blocked and workers_lock held; new,
	 * before it runs fibers; about to end, gone is set.
	 */
	void (*thread_clone)(struct fib_worker *w);
	void (*thread_init)(struct fib_worker *w);
	void (*thread_end)(struct fib_worker *w);
	/* What a worker's altstack needs, 0: none. */
	size_t altstack_size;
	/* The monitor's thread: the descriptor it polls as well is readable. */
	void (*receive)(void);
	/* The same thread, which waits for a lock: what cannot wait. */
	void (*receive_urgent)(void);
	/* The same thread: a worker is held up by its fiber. */
	void (*held_up)(struct fib_worker *w);
	/* The worker itself, whose place was given away: not any more. */
	void (*came_back)(struct fib_worker *w);
	/* The same thread: @w, or the monitor itself (NULL), does not come out
	 * of the runtime, since it loops, or waits for a lock. */
	void (*stuck)(struct fib_worker *w, bool spins);
	/*
	 * The same thread, under the lock of slot @s: consumers have waited
	 * there for @events for a while. enum fib_late.
	 */
	unsigned (*late)(struct fib_fd *s, uint8_t events);
	/*
	 * A worker: @f, which has waited for a descriptor, is the next to run. To
	 * the cache with what its call is going to touch of that.
	 */
	void (*prefetch)(const struct fib *f);
	/* A worker: what fib_iom_tell_of() was asked for has come. */
	void (*news)(void);
	/* One line for the log, a warning. No libc, any thread. */
	void (*log)(const char *line);
	/* Take the worker away from a fiber that loops. Any thread. */
	void (*preempt)(struct fib_worker *w);
	/** The same, if it is in a call. */
	void (*preempt_call)(struct fib_worker *w);
	/* End the system call that @w's kernel thread is in, NULL: the
	 * monitor's. Any thread. */
	void (*kick)(struct fib_worker *w);
	/* @w's sleep has ended by a signal, or by a stop, on its own stack; NULL: the
	 * monitor's. */
	void (*interrupted)(struct fib_worker *w);
	/* The messenger: the last fiber has ended, with this status. */
	void (*process_end)(int status);
};

#include "fib_host_self.h"

#endif
