/*
 * A thread's affinity, policy and CPU clock timers, set by another one.
 * t-case: waits
 * t-case: runs
 * t-case: queued
 * t-case: ends
 */
#include "t.h"

static int cpu, go[2];
static volatile int stop, pinned_to = -1;
static volatile unsigned long sink;

static void pin(pthread_t th)
{
	cpu_set_t one, now;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_0(pthread_setaffinity_np(th, sizeof(one), &one));
	CHECK_0(pthread_getaffinity_np(th, sizeof(now), &now));
	CHECK(CPU_EQUAL(&now, &one));
}

static void is_pinned(void)
{
	cpu_set_t now;

	CHECK_0(pthread_getaffinity_np(pthread_self(), sizeof(now), &now));
	CHECK(CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now));
	for (int i = 0; i < 10; i++) {
		t_settle();
		CHECK(sched_getcpu() == cpu);
	}
}

static void *waits(void *arg)
{
	t_get(go[0]);
	is_pinned();
	return arg;
}

static void *runs(void *arg)
{
	t_put(go[1], 'x');
	while (!stop)
		sink++;
	is_pinned();
	return arg;
}

static void *yields(void *arg)
{
	t_put(go[1], 'x');
	while (!stop)
		sched_yield();
	is_pinned();
	return arg;
}

static void *idles(void *arg)
{
	cpu_set_t now;

	t_get(go[0]);
	CHECK_0(pthread_getaffinity_np(pthread_self(), sizeof(now), &now));
	pinned_to = CPU_COUNT(&now);
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

static void race_with_the_end(void)
{
	struct sched_param sp = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	for (int i = 0; i < 300; i++) {
		pthread_t th = t_thread(ends, NULL);
		int r = pthread_setaffinity_np(th, sizeof(one), &one);

		CHECK(r == 0 || r == ESRCH);
		r = pthread_setschedparam(th, SCHED_BATCH, &sp);
		CHECK(r == 0 || r == ESRCH);
		t_join(th);
	}
}

int main(int argc, char **argv)
{
	struct sched_param sp = { 0 };
	pthread_t th, free_one;
	cpu_set_t all;
	int policy;

	CHECK(argc == 2);
	t_pipe(go);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	free_one = t_thread(idles, NULL);
	if (!strcmp(argv[1], "waits")) {
		th = t_thread(waits, NULL);
		t_settle();
		pin(th);
		CHECK_0(pthread_setschedparam(th, SCHED_BATCH, &sp));
		CHECK_0(pthread_getschedparam(th, &policy, &sp));
		CHECK(policy == SCHED_BATCH);
		CHECK_0(pthread_getschedparam(free_one, &policy, &sp));
		CHECK(policy == SCHED_OTHER);
		t_put(go[1], 'x');
		t_put(go[1], 'x');
		t_join(th);
	} else if (!strcmp(argv[1], "runs") || !strcmp(argv[1], "queued")) {
		pthread_t more[3];
		int n = argv[1][0] == 'q' ? 3 : 1;

		for (int i = 0; i < n; i++)
			more[i] = t_thread(n > 1 ? yields : runs, NULL);
		/* free_one may have taken one: then it is done */
		for (int i = 0; i < n; i++)
			pin(more[i]);
		t_settle();
		stop = 1;
		for (int i = 0; i < n; i++)
			t_join(more[i]);
		t_put(go[1], 'x');
	} else {
		race_with_the_end();
		t_put(go[1], 'x');
	}
	t_join(free_one);
	CHECK(pinned_to == CPU_COUNT(&all));
	t_say("%s: fine", argv[1]);
	return 0;
}
