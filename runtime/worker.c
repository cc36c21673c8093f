/* Workers come and go: threads, slots, dedicated fibers. See sched.h. */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include "ctx_arch.h"
#include "runtime/cputime.h"
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "runtime/timer.h"

#define WORKER_STACK (64ul * 1024)

static void loop(void *arg)
{
	fib_worker_loop(arg);
}

void *fib_thread_stack(size_t size)
{
	char *p = fib_pages_alloc(size + FIB_PAGE);

	if (!p)
		return NULL;
	fib_raw(SYS_mprotect, p, FIB_PAGE, PROT_NONE);
	return p + FIB_PAGE + size;
}

static void worker_main(void *arg)
{
	struct fib_worker *w = arg;

	fib_worker_set(w);
	fib_san_adopt(&w->san);
	if (fib_host.thread_init)
		fib_host.thread_init(w);
	fib_store(&w->born, 1, release);
	fib_raw(SYS_futex, &w->born, FUTEX_WAKE_PRIVATE, 1);
	loop(w);
}

void fib_sched_init_locks(struct fib_sched *s)
{
	fib_lock_init(&s->renew_lock, RENEW);
	fib_lock_init(&s->inject_lock, INJECT);
	fib_lock_init(&s->workers_lock, WORKERS);
}

void fib_worker_init(struct fib_sched *s, struct fib_worker *w, uint32_t id)
{
	w->self = w;
	w->id = id;
	fib_lock_init(&w->lock, RUN_QUEUE);
	fib_list_init(&w->queue);
	fib_timer_heap_init(&w->timers);
	fib_host_worker_init(s, w);
}

/* The slot of a worker that is gone for good, or a new one. */
static struct fib_worker *slot_locked(struct fib_sched *s)
{
	size_t size = FIB_ALIGN_UP(sizeof(struct fib_worker), FIB_PAGE);
	uint32_t n = fib_load(&s->workers, relaxed);
	struct fib_worker *w;

	for (uint32_t i = 1; i < n; i++) {
		w = s->worker[i];
		if (fib_load(&w->gone, acquire) && !fib_load(&w->tid, acquire))
			return w;
	}
	if (n == FIB_SCHED_WORKERS)
		return NULL;
	w = s->worker[n];
	if (!w)
		w = fib_pages_alloc(size);
	if (!w)
		return NULL;
	s->worker[n] = w;
	if (!w->stack)
		w->stack = fib_thread_stack(WORKER_STACK);
	/* Without it, a signal's frame would lie on the fiber's stack. */
	if (!w->altstack && fib_host.altstack_size) {
		w->altstack = fib_thread_stack(fib_host.altstack_size);
		if (w->altstack)
			w->altstack = (char *)w->altstack -
				      fib_host.altstack_size;
	}
	if (!w->stack || (!w->altstack && fib_host.altstack_size))
		return NULL;
	fib_worker_init(s, w, n);
	return w;
}

static void await_birth(struct fib_worker *w)
{
	for (unsigned turns = 0; !fib_load(&w->born, acquire);) {
		struct timespec ts = { 0, FIB_LATE_NS };

		if (fib_raw(SYS_futex, &w->born, FUTEX_WAIT_PRIVATE, 0, &ts) ==
		    -ETIMEDOUT)
			fib_lock_late(++turns);
	}
	fib_lock_late(0);
}

/*
 * A worker, with a kernel thread of its own if @start, which is cloned from
 * the caller's; for @bound alone, or for all (NULL). NULL: no resources.
 */
struct fib_worker *fib_worker_create(struct fib_sched *s, bool start,
				     struct fib *bound)
{
	struct fib_worker *w;
	uint64_t all = ~0ull, mask;
	long tid = 0;

	fib_lock(&s->workers_lock);
	w = slot_locked(s);
	if (!w)
		goto out;
	w->bound = bound;
	fib_store(&w->bound_ready, 0, relaxed);
	fib_store(&w->taken, bound != NULL, relaxed);
	fib_store(&w->gone, 0, relaxed);
	fib_store(&w->born, 0, relaxed);
	fib_host_worker_starts(w, bound);
	if (bound)
		bound->bound = w;
	/* Known before it runs: others look at its queue and timers. */
	if (w->id == fib_load(&s->workers, relaxed))
		fib_store(&s->workers, w->id + 1, release);
	if (!start) {
		w->sched_sp = fib_ctx_make(w->stack, loop, w);
		fib_san_create(&w->san, (char *)w->stack - WORKER_STACK,
			       WORKER_STACK);
		fib_store(&w->tid, (int)fib_raw(SYS_gettid), relaxed);
		goto out;
	}
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	if (fib_host.thread_clone)
		fib_host.thread_clone(w);
	tid = fib_host_worker_thread(w, WORKER_STACK, worker_main);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	if (tid < 0) {
		fib_store(&w->tid, 0, relaxed);
		fib_store(&w->gone, 1, release);
		if (bound)
			bound->bound = NULL;
		w = NULL;
		goto out;
	}
	w->last_tid = (int)tid;
	await_birth(w);
out:
	fib_unlock(&s->workers_lock);
	return w;
}

/* @w is not among those that run others any more. */
static void leave_place(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	struct fib *other;

	while ((other = fib_runq_pop(&w->lock, &w->queue, &w->queued)))
		fib_runq_inject(s, other);
	fib_fence(seq_cst);
	if (fib_load(&s->nidle, relaxed))
		fib_notify_one(s);
}

/* The first thread, on the first kernel thread already. */
static int dedicate_here(struct fib_worker *w, struct fib *f)
{
	struct fib_sched *s = fib_sched_of(w);

	if (!fib_xchg(&w->taken, 1, seq_cst)) {
		fib_sub(&s->running, 1, seq_cst);
		if (!fib_start_spare(s)) {
			fib_store(&w->taken, 0, seq_cst);
			fib_add(&s->running, 1, seq_cst);
			return -EAGAIN;
		}
		fib_add(&s->running, 1, seq_cst);
	}
	w->bound = f;
	f->bound = w;
	leave_place(w);
	return 0;
}

static void summon(struct fib_worker *w)
{
	int spare = 1;

	fib_store(&w->summoned, 1, seq_cst);
	if (fib_cas(&w->spare, &spare, 2, seq_cst))
		fib_raw(SYS_futex, &w->spare, FUTEX_WAKE_PRIVATE, 1);
	if (fib_host.preempt)
		fib_host.preempt(w);
	if (fib_host.kick)
		fib_host.kick(w);
}

/* Where nobody can be had in its place, those that run are one less. */
void fib_worker_answer(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);

	fib_store(&w->summoned, 0, seq_cst);
	if (fib_load(&s->ending, acquire))
		fib_worker_end(w);
	if (w->ends) {
		w->ends = false;
		if (!fib_load(&w->taken, relaxed))
			fib_sub(&s->running, 1, seq_cst);
		leave_place(w);
		fib_worker_end(w);
	}
	if (!w->reserved)
		return;
	w->bound = w->reserved;
	w->reserved = NULL;
	if (!fib_xchg(&w->taken, 1, seq_cst)) {
		fib_sub(&s->running, 1, seq_cst);
		if (fib_start_spare(s))
			fib_add(&s->running, 1, seq_cst);
	}
	leave_place(w);
}

int fib_bind_self(void)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_sched *s = fib_sched_of(w);
	struct fib *f = w->cur;
	int r;

	if (f->bound)
		return 0;
	if (f != s->first) {
		r = fib_bind(f);
		if (r)
			return r;
	} else if (w->id == 0) {
		return dedicate_here(w, f);
	} else {
		w = s->worker[0];
		f->bound = w;
		w->reserved = f;
		summon(w);
	}
	fib_sched_move();
	return 0;
}

/* Until the kernel has forgotten thread @tid, which has left its stack. */
static void wait_forgotten(int tid)
{
	long pid = fib_raw(SYS_getpid);

	while (tid && fib_raw(SYS_tgkill, pid, tid, 0) == 0)
		fib_raw(SYS_sched_yield);
}

static void wait_ended(struct fib_worker *w)
{
	int tid;

	while ((tid = fib_load(&w->tid, acquire)))
		fib_raw(SYS_futex, &w->tid, FUTEX_WAIT, tid, 0);
	wait_forgotten(w->last_tid);
}

void fib_sched_end_others(struct fib_sched *s)
{
	int tid = (int)fib_load(&fib_monitor_tid, relaxed);
	uint32_t n;

	/* It makes workers: first. */
	fib_monitor_end();
	wait_forgotten(tid);
	fib_store(&s->ending, 1, seq_cst);
	n = fib_load(&s->workers, acquire);
	for (uint32_t i = 1; i < n; i++) {
		struct fib_worker *w = s->worker[i];

		if (!fib_load(&w->gone, acquire))
			summon(w);
		wait_ended(w);
	}
}

/*
 * The first thread has ended. Its kernel thread runs nothing any more: it waits in
 * fib_worker_end(), or will. Natively it has
 * ended with the first thread.
 */
static void end_first(struct fib_sched *s)
{
	fib_store(&s->first_ends, 1, seq_cst);
	fib_raw(SYS_futex, &s->first_ends, FUTEX_WAKE_PRIVATE, 1);
	wait_ended(s->worker[0]);
}

void fib_sched_renew(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	struct fib_worker *fresh = NULL;
	struct fib *first;

	fib_lock(&s->renew_lock);
	/* In this order: who has no helper at all would wait for ever. */
	if (fib_monitor_renew(s) == 0)
		fresh = fib_worker_create(s, true, NULL);
	if (fresh)
		fib_add(&s->running, 1, seq_cst);
	for (uint32_t i = 0; fresh && i < n; i++) {
		struct fib_worker *w = s->worker[i];

		if (w == fresh || w->bound || fib_load(&w->gone, acquire))
			continue;
		w->ends = true;
		summon(w);
		/* The first kernel thread stays while the first thread does. */
		if (i > 0)
			wait_ended(w);
	}
	first = fib_load(fib_shared(&s->first), acquire);
	if (fresh && (!first || !fib_load(&first->tid, acquire)))
		end_first(s);
	fib_unlock(&s->renew_lock);
}

int fib_bind(struct fib *f)
{
	return fib_worker_create(fib_sched_here(), true, f) ? 0 : -EAGAIN;
}

struct fib *fib_bound_to(int tid)
{
	struct fib_sched *s = fib_sched_here();
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		struct fib *f = w->bound;

		if (f && fib_load(&w->tid, acquire) == tid &&
		    fib_load(&f->tid, acquire) == tid)
			return f;
	}
	return NULL;
}

const char *_Atomic fib_step;

int fib_sched_prepare(struct fib_sched *s, unsigned n)
{
	int r = -ENOMEM;

	fib_symtab.sched = s;
	s->target = n;
	fib_sched_init_locks(s);
	fib_list_init(&s->inject);
	fib_store(&fib_step, "mmap", relaxed);
	if (fib_worker_create(s, false, NULL))
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

void fib_sched_run(struct fib_sched *s, struct fib *main_fiber)
{
	struct fib_worker *w = s->worker[0];

	s->first = main_fiber;
	main_fiber->on = w;
	fib_host_sched_begins(s, main_fiber);
	fib_store(&main_fiber->state, FIB_IS_RUNNING, relaxed);
	w->cur = main_fiber;
	fib_cpu_adopt(main_fiber);
	fib_san_adopt(&main_fiber->san);
	fib_store(&s->running, 1, relaxed);
	for (unsigned i = 1; i < s->target; i++) {
		if (!fib_worker_create(s, true, NULL))
			break;
		fib_add(&s->running, 1, relaxed);
	}
	fib_monitor_go();
	fib_worker_set(w);
	fib_store(&fib_symtab.active, 1, release);
}

void fib_sched_forget(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, relaxed);

	fib_worker_set(NULL);
	fib_host_forget();
	fib_store(&fib_symtab.active, 0, relaxed);
	/* The stacks and structs stay for the next start. */
	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		void *stack = w->stack, *altstack = w->altstack;

		memset(w, 0, sizeof(*w));
		w->stack = stack;
		w->altstack = altstack;
	}
	fib_store(&s->workers, 0, relaxed);
	/* The table of workers and that of descriptors stay as well. */
	memset(s, 0, offsetof(struct fib_sched, worker));
	fib_monitor_forget();
}
