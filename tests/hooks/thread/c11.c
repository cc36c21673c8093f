/* C11 threads: thrd, mtx, cnd, tss, call_once. */
#include "t.h"
#include <threads.h>

enum { N = 10, TURNS = 500 };

static mtx_t m;
static cnd_t c;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int counter, started, go, once_runs, destroyed;
static thread_local int local = 7;

static void run_once(void)
{
	once_runs++;
}

static void on_destroy(void *v)
{
	__atomic_add_fetch(&destroyed, *(int *)v, __ATOMIC_SEQ_CST);
	free(v);
}

static int work(void *arg)
{
	int *mine = malloc(sizeof(*mine));

	CHECK(mine);
	*mine = (int)(intptr_t)arg;
	CHECK(tss_set(key, mine) == thrd_success);
	call_once(&once, run_once);
	CHECK(mtx_lock(&m) == thrd_success);
	started++;
	CHECK(cnd_broadcast(&c) == thrd_success);
	while (!go)
		CHECK(cnd_wait(&c, &m) == thrd_success);
	CHECK(mtx_unlock(&m) == thrd_success);
	CHECK(local == 7);
	local = *mine;
	for (int i = 0; i < TURNS; i++) {
		CHECK(mtx_lock(&m) == thrd_success);
		counter++;
		CHECK(mtx_unlock(&m) == thrd_success);
		if (i % 50 == 0)
			thrd_yield();
	}
	CHECK(local == *mine);
	CHECK(tss_get(key) == mine);
	if (local % 2)
		thrd_exit(local * 2);
	return local * 2;
}

int main(void)
{
	struct timespec ts = { 0, 20 * T_MS };
	thrd_t th[N];
	int sum = 0, r;
	long long t0;

	CHECK(mtx_init(&m, mtx_timed) == thrd_success);
	CHECK(cnd_init(&c) == thrd_success);
	CHECK(tss_create(&key, on_destroy) == thrd_success);
	for (int i = 0; i < N; i++)
		CHECK(thrd_create(&th[i], work, (void *)(intptr_t)i) ==
		      thrd_success);
	CHECK(mtx_lock(&m) == thrd_success);
	while (started < N)
		CHECK(cnd_wait(&c, &m) == thrd_success);
	go = 1;
	CHECK(cnd_broadcast(&c) == thrd_success);
	CHECK(mtx_unlock(&m) == thrd_success);
	for (int i = 0; i < N; i++) {
		CHECK(thrd_join(th[i], &r) == thrd_success);
		sum += r;
	}
	t_say("counter %d, sum %d, once %d, destroyed %d", counter, sum,
	      once_runs, destroyed);
	t0 = t_now();
	CHECK(thrd_sleep(&ts, NULL) == 0);
	T_TOOK(t0, 20 * T_MS);
	CHECK(mtx_lock(&m) == thrd_success);
	ts = t_in(CLOCK_REALTIME, 20 * T_MS);
	CHECK(cnd_timedwait(&c, &m, &ts) == thrd_timedout);
	CHECK(mtx_unlock(&m) == thrd_success);
	CHECK(mtx_trylock(&m) == thrd_success);
	CHECK(mtx_unlock(&m) == thrd_success);
	t_say("sleep and timed wait");
	return 0;
}
