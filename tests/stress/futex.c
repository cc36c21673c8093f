/* Locks built on the futex table as libc builds them, and their invariants. */
#include "tests/stress/stress.h"

static uint64_t seed;

/* --- U. Drepper's mutex --------------------------------------------------- */

struct mutex {
	_Atomic uint32_t word; /* 0: free, 1: held, 2: held and waited for */
};

/* As FUTEX_LOCK would be entered: with a time limit now and then. */
static void wait_on(struct mutex *m, struct rnd *r)
{
	uint64_t deadline = FIB_NEVER;
	int e;

	if (rnd(r, 4) == 0)
		deadline = fib_now_ns() + rnd(r, 100 * USEC);
	e = fib_futex_wait((uint32_t *)&m->word, 2, FIB_FUTEX_ANY, deadline);
	stress_check(e == 0 || e == -EAGAIN ||
		     (e == -ETIMEDOUT && deadline != FIB_NEVER));
}

static void lock_contended(struct mutex *m, struct rnd *r)
{
	while (fib_xchg(&m->word, 2, acquire) != 0)
		wait_on(m, r);
}

static void lock(struct mutex *m, struct rnd *r)
{
	uint32_t free_word = 0;

	if (!atomic_compare_exchange_strong(&m->word, &free_word, 1))
		lock_contended(m, r);
}

static void unlock(struct mutex *m)
{
	if (fib_xchg(&m->word, 0, release) == 2)
		fib_futex_wake((uint32_t *)&m->word, 1, FIB_FUTEX_ANY);
}

#define FIBERS 60
#define ROUNDS 150

static struct mutex mutex[3];
static uint64_t guarded[3]; /* plain */

static void count(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t k = rnd(&r, 3), was;

		lock(&mutex[k], &r);
		was = guarded[k];
		stress_dawdle(&r);
		guarded[k] = was + 1;
		unlock(&mutex[k]);
		stress_progress();
	}
	stress_done();
}

static void run_mutex(uint64_t s)
{
	seed = s;
	for (uintptr_t i = 0; i < FIBERS; i++)
		stress_go(count, (void *)i);
	stress_join();
	stress_check(guarded[0] + guarded[1] + guarded[2] == FIBERS * ROUNDS);
}

const struct scenario stress_mutex = { "mutex", run_mutex };

/* --- a condition variable with requeue, around a small queue -------------- */

struct cond {
	_Atomic uint32_t seq;
};

static void cond_wait(struct cond *c, struct mutex *m, struct rnd *r)
{
	uint32_t seq = fib_load(&c->seq, relaxed);

	unlock(m);
	FIB_CHAOS_POINT(cond_wait);
	fib_futex_wait((uint32_t *)&c->seq, seq, FIB_FUTEX_ANY,
		       rnd(r, 4) ? FIB_NEVER :
				   fib_now_ns() + rnd(r, 200 * USEC));
	lock_contended(m, r);
}

static void cond_signal(struct cond *c)
{
	fib_add(&c->seq, 1, relaxed);
	fib_futex_wake((uint32_t *)&c->seq, 1, FIB_FUTEX_ANY);
}

/* One is woken, the others go over to the mutex, which we hold. */
static void cond_broadcast(struct cond *c, struct mutex *m)
{
	uint32_t seq = fib_add(&c->seq, 1, relaxed) + 1;
	int n;

	fib_store(&m->word, 2, relaxed);
	n = fib_futex_requeue((uint32_t *)&c->seq, (uint32_t *)&m->word, 1,
			      INT_MAX, &seq);
	stress_check(n >= 0);
}

#define CAPACITY  4
#define PRODUCERS 12
#define CONSUMERS 12
#define ITEMS	  (PRODUCERS * 200)

static struct {
	struct mutex m;
	struct cond not_full, not_empty;
	uint64_t item[CAPACITY]; /* plain, as all below */
	unsigned count, first;
	uint64_t in, out, taken;
} queue;

static void produce(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < ITEMS / PRODUCERS; i++) {
		uint64_t v = rnd(&r, 1000);

		lock(&queue.m, &r);
		while (queue.count == CAPACITY)
			cond_wait(&queue.not_full, &queue.m, &r);
		queue.item[(queue.first + queue.count++) % CAPACITY] = v;
		queue.in += v;
		if (rnd(&r, 8) == 0)
			cond_broadcast(&queue.not_empty, &queue.m);
		else
			cond_signal(&queue.not_empty);
		unlock(&queue.m);
		stress_dawdle(&r);
	}
	stress_done();
}

static void consume(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (;;) {
		bool over;

		lock(&queue.m, &r);
		while (!queue.count && queue.taken < ITEMS)
			cond_wait(&queue.not_empty, &queue.m, &r);
		stress_check(queue.count <= CAPACITY);
		over = !queue.count;
		if (!over) {
			queue.out += queue.item[queue.first];
			queue.first = (queue.first + 1) % CAPACITY;
			queue.count--;
			if (++queue.taken == ITEMS)
				cond_broadcast(&queue.not_empty, &queue.m);
			cond_signal(&queue.not_full);
		}
		unlock(&queue.m);
		stress_progress();
		if (over)
			break;
		stress_dawdle(&r);
	}
	stress_done();
}

static void run_cond(uint64_t s)
{
	seed = s;
	for (uintptr_t i = 0; i < CONSUMERS; i++)
		stress_go(consume, (void *)(i + 100));
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		stress_go(produce, (void *)i);
	stress_join();
	stress_check(queue.taken == ITEMS && queue.in == queue.out);
}

const struct scenario stress_cond = { "cond", run_cond };

/* --- token: who is told of a wake-up is as many as were counted awake ------ */

#define WAITERS 24
#define WAITS	200
#define WORDS	4

static uint32_t word[WORDS];
static _Atomic uint64_t returned, counted;
static _Atomic int waiting;

static void wait_often(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < WAITS; i++) {
		uint64_t end = fib_now_ns() + rnd(&r, 60 * USEC);
		uint32_t bits = 1u << rnd(&r, 3);
		int e = fib_futex_wait(&word[rnd(&r, WORDS)], 0, bits, end);

		stress_check(e == 0 || e == -ETIMEDOUT);
		stress_check(e == 0 || fib_now_ns() >= end);
		if (e == 0)
			fib_add(&returned, 1, relaxed);
		stress_progress();
	}
	fib_sub(&waiting, 1, release);
	stress_done();
}

static void wake_some(struct rnd *r)
{
	uint32_t *a = &word[rnd(r, WORDS)], *b = &word[rnd(r, WORDS)];
	int n;

	switch (rnd(r, 4)) {
	case 0:
		/* moved, and not woken: they count where they are woken */
		n = fib_futex_requeue(a, b, 0, (int)rnd(r, 4), NULL);
		stress_check(n >= 0);
		break;
	case 1:
		/* *b |= 0, and was 0 */
		n = fib_futex_wake_op(a, b, 1, 1, 2u << 28);
		stress_check(n >= 0);
		fib_add(&counted, (uint64_t)n, relaxed);
		break;
	default:
		n = fib_futex_wake(a, 1 + (int)rnd(r, 3),
				   1u + (uint32_t)rnd(r, 7));
		fib_add(&counted, (uint64_t)n, relaxed);
	}
}

static void wake_fiber(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	while (fib_load(&waiting, acquire)) {
		wake_some(&r);
		fib_sched_yield();
	}
	stress_done();
}

static void wake_thread(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	while (fib_load(&waiting, acquire)) {
		wake_some(&r);
		stress_dawdle_thread(&r);
	}
	stress_done();
}

static void run_token(uint64_t s)
{
	seed = s;
	fib_store(&waiting, WAITERS, relaxed);
	for (uintptr_t i = 0; i < WAITERS; i++)
		stress_go(wait_often, (void *)i);
	stress_go(wake_fiber, (void *)100);
	stress_go(wake_fiber, (void *)101);
	stress_thread(wake_thread, (void *)102);
	stress_join();
	stress_check(fib_load(&returned, relaxed) ==
		     fib_load(&counted, relaxed));
}

const struct scenario stress_token = { "token", run_token };
