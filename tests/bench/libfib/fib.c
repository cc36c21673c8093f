/*
 * This library, see bench.h: a scheduler with one thread, which is the
 * caller's, and its default stacks. With a fourth argument, "thread", the
 * process has a second thread, which sleeps.
 */
#include <fib.h>
#include <pthread.h>
#include "bench.h"

static struct fib_sched *sched;
static uint64_t ran;

static void count(void *arg)
{
	ran++;
}

static void latency(uint64_t n)
{
	while (n--) {
		uint64_t before = ran;

		bench_check(fib_sched_submit(sched, count, NULL, -1) == 0);
		while (ran == before)
			fib_yield_ready();
	}
}

static void throughput(uint64_t n)
{
	uint64_t start = ran;

	for (uint64_t done = 0; done < n; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			bench_check(fib_sched_submit(sched, count, NULL, -1) ==
				    0);
		while (ran != start + done + BATCH)
			fib_yield_ready();
	}
}

static struct fib_sem ended = FIB_SEM_INIT(0);

static void yielder(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg / 2; i++)
		fib_yield_ready();
	fib_sem_post(&ended);
}

static void yields(uint64_t n)
{
	bench_check(fib_sched_submit(sched, yielder, &n, -1) == 0);
	for (uint64_t i = 0; i < n / 2; i++)
		fib_yield_ready();
	fib_sem_wait(&ended, FIB_NEVER);
}

static void resumed(void *arg)
{
	for (;;)
		fib_yield();
}

/* Into a fiber and back are two switches. */
static void resume(uint64_t n)
{
	static struct fib *f;

	if (!f)
		bench_check(fib_create(&f, resumed, NULL, 0) == 0);
	for (uint64_t i = 0; i < n / 2; i++)
		fib_resume(f);
}

static void create(uint64_t n)
{
	uint64_t start = ran;

	for (uint64_t i = 0; i < n; i++) {
		struct fib *f;

		bench_check(fib_create(&f, count, NULL, 0) == 0);
		fib_resume(f);
		fib_destroy(f);
	}
	bench_check(ran == start + n);
}

static void timer(uint64_t n)
{
	while (n--) {
		int64_t id = fib_timer_add(sched, LONG_SEC * 1000000000ull, 0,
					   count, NULL, NULL);

		bench_check(id > 0 && fib_timer_cancel(sched, id) == 0);
	}
}

static struct {
	struct fib_mutex m;
	struct fib_cond c;
	uint64_t turn, n;
} waits = { FIB_MUTEX_INIT, FIB_COND_INIT, 0, 0 };

static void signaller(void *arg)
{
	for (uint64_t i = 0; i < waits.n; i++) {
		fib_mutex_lock(&waits.m);
		waits.turn++;
		fib_cond_signal(&waits.c);
		fib_mutex_unlock(&waits.m);
		fib_yield_ready();
	}
	fib_sem_post(&ended);
}

static void timed_wait(uint64_t n)
{
	waits.turn = 0;
	waits.n = n;
	bench_check(fib_sched_submit(sched, signaller, NULL, -1) == 0);
	for (uint64_t i = 0; i < n; i++) {
		fib_mutex_lock(&waits.m);
		while (waits.turn <= i)
			bench_check(fib_cond_wait(&waits.c, &waits.m,
						  LONG_SEC * 1000000000ull) ==
				    0);
		fib_mutex_unlock(&waits.m);
	}
	fib_sem_wait(&ended, FIB_NEVER);
}

static struct fib_channel *there, *back;

static void echoer(void *arg)
{
	uint64_t v;

	for (uint64_t i = 0; i < *(uint64_t *)arg; i++) {
		fib_channel_recv(there, &v, FIB_NEVER);
		fib_channel_send(back, &v, FIB_NEVER);
	}
	fib_sem_post(&ended);
}

static void channel(uint64_t n)
{
	if (!there) {
		bench_check(fib_channel_create(&there, sizeof(n), 0) == 0);
		bench_check(fib_channel_create(&back, sizeof(n), 0) == 0);
	}
	bench_check(fib_sched_submit(sched, echoer, &n, -1) == 0);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = 0;

		fib_channel_send(there, &i, FIB_NEVER);
		fib_channel_recv(back, &v, FIB_NEVER);
		bench_check(v == i);
	}
	fib_sem_wait(&ended, FIB_NEVER);
}

static void post(void *arg)
{
	fib_sem_post(&ended);
}

static void across(uint64_t n)
{
	static struct fib_sched *other;

	if (!other) {
		bench_check(fib_sched_create(&other, 1, false, "other") == 0);
		bench_check(fib_sched_start(other) == 0);
	}
	while (n--) {
		bench_check(fib_sched_submit(other, post, NULL, -1) == 0);
		bench_check(fib_sem_wait(&ended, FIB_NEVER) == 0);
	}
}

static const struct bench benches[] = {
	{ "latency", latency }, { "throughput", throughput },
	{ "switch", yields },	{ "resume", resume },
	{ "create", create },	{ "timer", timer },
	{ "channel", channel }, { "timed_wait", timed_wait },
	{ "across", across },	{ NULL, NULL },
};

static struct {
	int argc, status;
	char **argv;
} args;

static void first(void *arg)
{
	args.status = bench_main(args.argc, args.argv, benches);
}

static void *sleeps(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 4 && strcmp(argv[3], "thread") == 0) {
		bench_check(!pthread_create(&thread, NULL, sleeps, NULL));
		argc--;
	}
	args.argc = argc;
	args.argv = argv;
	bench_check(fib_sched_create(&sched, 1, true, "bench") == 0);
	bench_check(fib_sched_start(sched) == 0);
	bench_check(fib_sched_submit(sched, first, NULL, -1) == 0);
	bench_check(fib_sched_stop(sched) == 0);
	return args.status;
}
