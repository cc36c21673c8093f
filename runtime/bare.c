/*
 * Workers on bare kernel threads, without libc, in a process whose first thread
 * is one of them: for a host that is below libc. runtime/host.h has what a
 * host provides of this.
 *
 * Who makes a kernel thread waits until it has been born: until it has set up
 * what a signal needs there. It has a stack of ours, which is free again, and so
 * is the slot, when the kernel has zeroed tid.
 */
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include "runtime/cputime.h"
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "runtime/uring.h"

/* --- kernel threads --------------------------------------------------------- */

void *fib_thread_stack(size_t size)
{
	char *p = fib_pages_alloc(size + FIB_PAGE);

	if (!p)
		return NULL;
	fib_raw(SYS_mprotect, p, FIB_PAGE, PROT_NONE);
	return p + FIB_PAGE + size;
}

bool fib_bare_stack(struct fib_worker *w)
{
	size_t size = fib_host.altstack_size;

	if (!w->stack)
		w->stack = fib_thread_stack(FIB_WORKER_STACK);
	/* Without it, a signal's frame would lie on the fiber's stack. */
	if (!w->altstack && size) {
		w->altstack = fib_thread_stack(size);
		if (w->altstack)
			w->altstack = (char *)w->altstack - size;
	}
	return w->stack && (w->altstack || !size);
}

/* Under a filter, by the call that libc makes, as the filter may know it. */
static long clone_thread(struct fib_worker *w)
{
	struct clone_args args = { .flags = FIB_THREAD_FLAGS,
				   .child_tid = (uintptr_t)&w->tid,
				   .parent_tid = (uintptr_t)&w->tid,
				   .stack = (uintptr_t)w->stack -
					    FIB_WORKER_STACK,
				   .stack_size = FIB_WORKER_STACK };
	long tid = -ENOSYS;

	if (fib_filtered())
		tid = fib_thread_clone3(&args, sizeof(args), fib_worker_main,
					w);
	return tid == -ENOSYS ? fib_thread_clone(FIB_THREAD_FLAGS, w->stack,
						 &w->tid, fib_worker_main, w) :
				tid;
}

static void await_birth(struct fib_worker *w)
{
	for (unsigned turns = 0; !fib_load(&w->born, acquire);) {
		struct timespec ts = { 0, FIB_LATE_NS };

		if (fib_raw(SYS_futex, &w->born, FUTEX_WAIT_PRIVATE, 0, &ts) ==
		    -ETIMEDOUT)
			fib_host_late(++turns);
	}
	fib_host_late(0);
}

int fib_bare_start(struct fib_worker *w)
{
	uint64_t all = ~0ull, mask;
	long tid;

	fib_store(&w->born, 0, relaxed);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	if (fib_host.thread_clone)
		fib_host.thread_clone(w);
	tid = clone_thread(w);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	if (tid < 0)
		return (int)tid;
	w->last_tid = (int)tid;
	await_birth(w);
	return 0;
}

void fib_bare_begins(struct fib_worker *w)
{
	if (fib_host.thread_init)
		fib_host.thread_init(w);
	/* Pairs with await_birth(). */
	fib_store(&w->born, 1, release);
	fib_raw(SYS_futex, &w->born, FUTEX_WAKE_PRIVATE, 1);
}

void fib_bare_forgotten(int tid)
{
	long pid = fib_raw(SYS_getpid);

	while (tid && fib_raw(SYS_tgkill, pid, tid, 0) == 0)
		fib_raw(SYS_sched_yield);
}

void fib_bare_join(struct fib_worker *w, int last_tid)
{
	int tid;

	/* Another id: the slot is somebody else's already. */
	while ((tid = fib_load(&w->tid, acquire)) &&
	       (!last_tid || tid == last_tid))
		fib_raw(SYS_futex, &w->tid, FUTEX_WAIT, tid, 0);
	fib_bare_forgotten(last_tid);
}

/* --- the process's first thread --------------------------------------------- */

/* Its stacks, rings, and room for timers stay. */
static void wipe(struct fib_worker *w)
{
	void *stack = w->stack, *altstack = w->altstack;
	struct fib_tries *tries = w->tries;
	struct fib_timer_heap timers = w->timers;

	memset(w, 0, sizeof(*w));
	if (timers.node != w->timers.few) {
		w->timers.node = timers.node;
		w->timers.size = timers.size;
	}
	w->stack = stack;
	w->altstack = altstack;
	w->tries = tries;
	fib_uring_forget_tries(tries);
}

int fib_sched_prepare(struct fib_sched *s, unsigned n)
{
	int r;

	/* Those of before: most fork children start nothing, and copy none. */
	for (uint32_t i = 0; i < FIB_SCHED_WORKERS && s->worker[i]; i++)
		wipe(s->worker[i]);
	fib_store(&fib_step, "mmap", relaxed);
	r = fib_sched_init(s, n);
	if (r >= 0)
		r = fib_monitor_start(s);
	if (r < 0)
		fib_sched_cancel(s);
	return r;
}

void fib_sched_cancel(struct fib_sched *s)
{
	fib_monitor_end();
	fib_sched_forget(s);
}

void fib_sched_run(struct fib_sched *s, struct fib *first)
{
	struct fib_worker *w = s->worker[0];

	s->first = first;
	first->on = w;
	fib_store(&first->state, FIB_IS_RUNNING, relaxed);
	w->cur = first;
	w->fsbase = first->fsbase;
	fib_cpu_adopt(first);
	fib_san_adopt(&first->san);
	fib_worker_here(w);
	fib_workers_start(s, 1, fib_load(&s->workers, relaxed), false);
	fib_monitor_go();
	fib_worker_set(w);
	fib_store(&fib_symtab.active, 1, release);
}

void fib_sched_forget(struct fib_sched *s)
{
	uint32_t workers = fib_load(&s->workers, relaxed);

	fib_worker_set(NULL);
	fib_messenger_forget();
	fib_uring_forget();
	fib_store(&fib_symtab.active, 0, relaxed);
	/* They themselves are not written: wipe(). */
	for (uint32_t i = 0; i < workers; i++)
		for (unsigned k = 0; k < FIB_STATS; k++) {
			uint64_t n =
				fib_load(&s->worker[i]->counts[k], relaxed);

			if (n)
				fib_add(&fib_symtab.stats[k], n, relaxed);
		}
	fib_store(&s->workers, 0, relaxed);
	/* The tables of workers and of descriptors stay for the next start. */
	memset(s, 0, offsetof(struct fib_sched, worker));
	fib_monitor_forget();
}
