/*
 * The messenger: a kernel thread that does what others may not.
 *
 * Threads under a seccomp filter of the program's tell it by a futex whom they
 * would wake by a descriptor. It is a worker that is bound to a fiber of its
 * own, which no program sees (its tid is 0), so that changes of identity reach it
 * as they do others. It is made before the first filter, by a thread that is
 * under none; later by one that has been found to be a model for all of ours
 * (fib_sched_renew()). For a host that has filtered threads.
 */
#include <linux/futex.h>
#include <sched.h>
#include "ctx_arch.h"
#include "runtime/iom.h"
#include "runtime/sched.h"

#define STACK_SIZE (32ul * 1024)

static struct fib_lock lock = FIB_LOCK(MESSENGER);
static struct fib *messenger;
static _Atomic uint32_t errands; /* futex */
static _Atomic int end_status;

static void end_polls(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];

		if (fib_load(&w->bound_ready, seq_cst) &&
		    fib_load(&w->polls, relaxed))
			fib_host.kick(w);
	}
}

static void run_errands(void *arg)
{
	for (;;) {
		uint32_t todo = fib_xchg(&errands, 0, seq_cst);

		if (!todo)
			fib_raw(SYS_futex, &errands, FUTEX_WAIT_PRIVATE, 0, 0);
		if (todo & FIB_ERRAND_NOTIFY) {
			fib_store(&FIB_HOST_SCHEDULER->wake_pending, 0,
				  seq_cst);
			fib_notify_one(FIB_HOST_SCHEDULER);
		}
		if (todo & FIB_ERRAND_KICK)
			end_polls(FIB_HOST_SCHEDULER);
		if (todo & FIB_ERRAND_POKE)
			fib_monitor_poke();
		if (todo & FIB_ERRAND_END)
			fib_host.process_end(fib_load(&end_status, relaxed));
		if (todo & FIB_ERRAND_LEAVE)
			fib_worker_quit(fib_worker_self());
	}
}

/* On a kernel thread like the caller's, which waits for fib_wake(). */
static struct fib *make(int *result)
{
	static void *stacks[2]; /* in turns: one is in use by the one before */
	static unsigned turn;
	void **stack = &stacks[turn];
	struct fib *f;

	*result = -EAGAIN;
	if (!*stack)
		*stack = fib_thread_stack(STACK_SIZE);
	f = *stack ? fib_alloc() : NULL;
	if (!f)
		return NULL;
	f->sp = fib_ctx_make(*stack, run_errands, NULL);
	fib_host_shield(f);
	*result = fib_bind(f);
	if (*result) {
		fib_free(f);
		return NULL;
	}
	turn = !turn;
	fib_store(&f->permit, FIB_PERMIT_PARKED, seq_cst);
	return f;
}

int fib_messenger_start(void)
{
	int r = 0;

	fib_lock(&lock);
	if (!messenger && (messenger = make(&r)))
		fib_wake(messenger);
	fib_unlock(&lock);
	return r;
}

/* Errands that come in between are left in the word for the next one. */
int fib_messenger_renew(void)
{
	struct fib *old, *fresh;
	int r = 0;

	fib_lock(&lock);
	old = messenger;
	fresh = old ? make(&r) : NULL;
	if (fresh) {
		struct fib_worker *w = old->bound;
		int last_tid = w->last_tid;

		fib_messenger_end();
		fib_bare_join(w, last_tid);
		fib_free(old);
		messenger = fresh;
		fib_wake(fresh);
	}
	fib_unlock(&lock);
	return r;
}

void fib_messenger_send(uint32_t errand, int status)
{
	if (errand & FIB_ERRAND_END)
		fib_store(&end_status, status, relaxed);
	fib_or(&errands, errand, seq_cst);
	/* It can wake nobody: the monitor looks each tick. */
	if (fib_worker_self()->process.strict)
		return;
	fib_raw(SYS_futex, &errands, FUTEX_WAKE_PRIVATE, 1);
	while (errand & FIB_ERRAND_END)
		fib_raw(SYS_futex, &lock, FUTEX_WAIT_PRIVATE,
			fib_load(&lock.word, relaxed), 0);
}

bool fib_messenger_is_sent(void)
{
	return fib_load(&errands, seq_cst);
}

void fib_messenger_hurry(void)
{
	if (fib_messenger_is_sent())
		fib_raw(SYS_futex, &errands, FUTEX_WAKE_PRIVATE, 1);
}

void fib_messenger_end(void)
{
	fib_or(&errands, FIB_ERRAND_LEAVE, seq_cst);
	fib_raw(SYS_futex, &errands, FUTEX_WAKE_PRIVATE, 1);
}

void fib_messenger_forget(void)
{
	messenger = NULL;
	fib_lock_init(&lock, MESSENGER);
	fib_store(&errands, 0, relaxed);
}
