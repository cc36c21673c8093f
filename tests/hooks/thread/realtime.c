/*
 * Threads with real-time priorities, all on one CPU: of those that wait for a
 * mutex the one with the highest gets it first, and while a thread keeps the
 * CPU to itself, a signal of the CPU time's interval timer comes to that one.
 *
 * t-case: order
 * t-case: changed
 * t-case: profile
 */
#include "t.h"
#include <sched.h>

#define WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static int got, order[WAITERS];

static void one_cpu(void)
{
	cpu_set_t one = t_one_cpu();

	CHECK_0(sched_setaffinity(0, sizeof(one), &one));
}

static pthread_t start(void *(*fn)(void *), void *arg, int priority)
{
	struct sched_param sp = { .sched_priority = priority };
	pthread_attr_t attr;
	pthread_t th;

	CHECK_0(pthread_attr_init(&attr));
	CHECK_0(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	CHECK_0(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	CHECK_0(pthread_attr_setschedparam(&attr, &sp));
	CHECK_0(pthread_create(&th, &attr, fn, arg));
	CHECK_0(pthread_attr_destroy(&attr));
	return th;
}

static void *waits(void *arg)
{
	struct sched_param sp;
	int policy;

	CHECK_0(pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK(policy == SCHED_FIFO);
	pthread_barrier_wait(&met);
	CHECK_0(pthread_mutex_lock(&mutex));
	order[got++] = sp.sched_priority;
	CHECK_0(pthread_mutex_unlock(&mutex));
	return arg;
}

static void say_order(const pthread_t th[WAITERS])
{
	for (int i = 0; i < WAITERS; i++)
		t_join(th[i]);
	for (int i = 0; i < WAITERS; i++)
		t_say("priority %d", order[i]);
}

/* Whom main lets go at the barrier is ahead of main: it waits for the mutex first. */
static void order_of_waiters(void)
{
	pthread_t th[WAITERS];

	CHECK_0(pthread_barrier_init(&met, NULL, 2));
	CHECK_0(pthread_mutex_lock(&mutex));
	for (int i = 0; i < WAITERS; i++) {
		th[i] = start(waits, NULL, 10 + 10 * i);
		pthread_barrier_wait(&met);
	}
	CHECK_0(pthread_mutex_unlock(&mutex));
	say_order(th);
}

static int to_be[WAITERS] = { 20, 40, 30 };

/* It has waited with its first priority just before. */
static void *waits_anew(void *arg)
{
	int i = (int)(intptr_t)arg;

	pthread_barrier_wait(&met);
	pthread_barrier_wait(&met);
	CHECK_0(pthread_mutex_lock(&mutex));
	order[got++] = to_be[i];
	CHECK_0(pthread_mutex_unlock(&mutex));
	return arg;
}

/* By another thread, so that it is asked for anew. */
static void order_after_change(void)
{
	pthread_t th[WAITERS];

	CHECK_0(pthread_barrier_init(&met, NULL, 2));
	CHECK_0(pthread_mutex_lock(&mutex));
	for (long i = 0; i < WAITERS; i++) {
		struct sched_param sp = { .sched_priority = to_be[i] };

		th[i] = start(waits_anew, (void *)i, 10);
		pthread_barrier_wait(&met);
		CHECK_0(pthread_setschedparam(th[i], SCHED_FIFO, &sp));
		pthread_barrier_wait(&met);
	}
	CHECK_0(pthread_mutex_unlock(&mutex));
	say_order(th);
}

static volatile sig_atomic_t in_spinner;
static volatile sig_atomic_t done;
static __thread volatile int is_spinner;

static void on_prof(int sig)
{
	(void)sig;
	in_spinner = is_spinner;
	done = 1;
}

static void *spins(void *arg)
{
	is_spinner = 1;
	while (!done)
		sched_yield();
	return arg;
}

static void *creates(void *arg)
{
	struct itimerval after = { .it_value = { 0, 30000 } };

	t_handle(SIGPROF, on_prof, SA_RESTART);
	CHECK(!setitimer(ITIMER_PROF, &after, NULL));
	t_join(start(spins, NULL, 3));
	return arg;
}

int main(int argc, char **argv)
{
	struct sched_param sp = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &sp) && errno == EPERM)
		t_skip("no right to real-time priorities");
	one_cpu();
	if (argc > 1 && !strcmp(argv[1], "profile")) {
		t_join(start(creates, NULL, 2));
		t_say("in the spinner: %d", (int)in_spinner);
	} else if (argc > 1 && !strcmp(argv[1], "changed")) {
		order_after_change();
	} else {
		order_of_waiters();
	}
	return 0;
}
