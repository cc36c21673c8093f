/* Park and wake: letters that must not be lost, and wakers that are late. */
#include "tests/stress/stress.h"

#define BOXES	  4
#define LETTERS	  3000
#define WRITERS	  3 /* fibers that write to a box */
#define OUTSIDERS 2 /* and threads */

static uint64_t seed;

/* --- park: every letter is read ------------------------------------------- */

struct letter {
	struct letter *next;
	uint64_t value; /* plain: the box alone orders it */
};

struct box {
	struct letter *_Atomic head;
	struct fib *owner;
	_Atomic int inside; /* flows on the owner's stack: 1 at most */
	_Atomic uint64_t posted;
	uint64_t total;
};

#define EACH (LETTERS / (WRITERS + OUTSIDERS))

/* No malloc(): bare workers share what it has for each thread. */
struct writer {
	struct box *box;
	uint64_t id;
	struct letter letter[EACH];
};

static struct box box[BOXES];

static void post(struct box *b, struct letter *l, struct rnd *r)
{
	l->value = 1 + rnd(r, 1000);
	fib_add(&b->posted, l->value, relaxed);
	l->next = fib_load(&b->head, relaxed);
	while (!atomic_compare_exchange_weak_explicit(&b->head, &l->next, l,
						      memory_order_release,
						      memory_order_relaxed))
		;
	fib_wake(b->owner);
	stress_progress();
}

static void read_box(void *arg)
{
	struct box *b = arg;
	struct rnd r = rnd_from(seed, 100 + (uint64_t)(b - box));
	uint64_t want = EACH * (WRITERS + OUTSIDERS);
	uint64_t got = 0;

	stress_check(fib_add(&b->inside, 1, relaxed) == 0);
	while (got < want) {
		struct letter *l = fib_xchg(&b->head, NULL, acquire);

		if (!l) {
			fib_sub(&b->inside, 1, relaxed);
			fib_park();
			stress_check(fib_add(&b->inside, 1, relaxed) == 0);
			continue;
		}
		while (l) {
			struct letter *next = l->next;

			b->total += l->value;
			l->value = 0;
			l = next;
			got++;
		}
		stress_check(fib_load(&b->inside, relaxed) == 1);
		if (rnd(&r, 8) == 0) {
			fib_sub(&b->inside, 1, relaxed);
			fib_sched_yield();
			stress_check(fib_add(&b->inside, 1, relaxed) == 0);
		}
	}
	stress_check(b->total == fib_load(&b->posted, relaxed));
	fib_sub(&b->inside, 1, relaxed);
	stress_done();
}

static void write_fiber(void *arg)
{
	struct writer *w = arg;
	struct rnd r = rnd_from(seed, w->id);

	for (int i = 0; i < EACH; i++) {
		post(w->box, &w->letter[i], &r);
		stress_dawdle(&r);
	}
	stress_done();
}

static void write_thread(void *arg)
{
	struct writer *w = arg;
	struct rnd r = rnd_from(seed, w->id);

	for (int i = 0; i < EACH; i++) {
		post(w->box, &w->letter[i], &r);
		stress_dawdle_thread(&r);
	}
	stress_done();
}

static void run_park(uint64_t s)
{
	static struct writer writer[BOXES][WRITERS + OUTSIDERS];

	seed = s;
	for (int i = 0; i < BOXES; i++)
		box[i].owner = stress_go(read_box, &box[i]);
	for (uint64_t i = 0; i < BOXES; i++)
		for (uint64_t k = 0; k < WRITERS + OUTSIDERS; k++) {
			struct writer *w = &writer[i][k];

			w->box = &box[i];
			w->id = i * 10 + k;
			if (k < WRITERS)
				stress_go(write_fiber, w);
			else
				stress_thread(write_thread, w);
		}
}

const struct scenario stress_park = { "park", run_park };

/* --- late: wake-ups of fibers that are gone, or are others by now --------- */

#define LIVES 4000
#define KNOWN 64

static struct fib *_Atomic known[KNOWN];
static _Atomic int alive, over;

static void mayfly(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	fib_store(&known[rnd(&r, KNOWN)], fib_self(), release);
	for (uint64_t n = rnd(&r, 4); n; n--)
		stress_dawdle(&r);
	fib_sub(&alive, 1, release);
	stress_done();
}

static void breed(void *arg)
{
	struct rnd r = rnd_from(seed, 1);

	for (uintptr_t i = 0; i < STRESS_FEW(LIVES); i++) {
		while (fib_load(&alive, acquire) > 50)
			fib_sched_yield();
		fib_add(&alive, 1, relaxed);
		stress_go(mayfly, (void *)(i + 1000));
		stress_dawdle(&r);
	}
	fib_store(&over, 1, release);
	stress_done();
}

static void poke(struct rnd *r)
{
	struct fib *f = fib_load(&known[rnd(r, KNOWN)], acquire);

	if (f)
		fib_wake(f);
}

static void poke_fiber(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	while (!fib_load(&over, acquire)) {
		poke(&r);
		stress_dawdle(&r);
		fib_sched_yield();
	}
	stress_done();
}

static void poke_thread(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	while (!fib_load(&over, acquire)) {
		poke(&r);
		stress_dawdle_thread(&r);
	}
	stress_done();
}

static void run_late(uint64_t s)
{
	seed = s;
	stress_go(breed, NULL);
	for (uintptr_t i = 0; i < 3; i++)
		stress_go(poke_fiber, (void *)(i + 10));
	stress_thread(poke_thread, (void *)20);
	stress_thread(poke_thread, (void *)21);
}

const struct scenario stress_late = { "late", run_late };
