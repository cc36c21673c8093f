/*
 * Who waits for a lock gets it, though all others stop each other by signals under that
 * lock, as collectors of garbage do: each wait for it is interrupted again and again, and
 * the handler makes calls, and waits.
 *
 * t-case: pair
 * t-case: many
 */
#include <stdbool.h>
#include "t.h"

enum { THREADS = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ack, done;
static pthread_t th[THREADS];
static _Thread_local volatile sig_atomic_t resumed;
static sigset_t waits;
static bool had[THREADS]; /* under the lock */
static int with;
static _Atomic bool over;

static void acks(int sig)
{
	(void)sig;
	CHECK_0(sem_post(&ack));
}

static void stops(int sig)
{
	resumed = 0;
	acks(sig);
	do
		sigsuspend(&waits);
	while (!resumed);
	acks(sig);
}

static void resumes(int sig)
{
	(void)sig;
	resumed = 1;
}

static void send_all(int sig, int me)
{
	for (int i = 0; i < THREADS; i++)
		if (i != me)
			CHECK_0(pthread_kill(th[i], sig));
	for (int i = 0; i < THREADS; i++)
		if (i != me)
			t_down(&ack);
}

static void *collects(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (;;) {
		CHECK_0(pthread_mutex_lock(&lock));
		if (over)
			break;
		send_all(SIGUSR1, me);
		send_all(SIGUSR2, me);
		with += !had[me];
		had[me] = true;
		if (with == THREADS) {
			over = true;
			CHECK_0(sem_post(&done));
		}
		CHECK_0(pthread_mutex_unlock(&lock));
	}
	CHECK_0(pthread_mutex_unlock(&lock));
	return NULL;
}

/* All stand at the lock, or run with it, until each has had it. */
static void many(void)
{
	struct sigaction sa = { .sa_handler = stops, .sa_flags = SA_RESTART };

	sigfillset(&waits);
	sigdelset(&waits, SIGUSR2);
	sigfillset(&sa.sa_mask);
	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_handler = resumes;
	CHECK_0(sigaction(SIGUSR2, &sa, NULL));
	CHECK_0(pthread_mutex_lock(&lock));
	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(collects, (void *)(intptr_t)i);
	CHECK_0(pthread_mutex_unlock(&lock));
	t_down(&done);
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	t_say("each has had it");
}

static void *gets_it(void *arg)
{
	CHECK_0(pthread_mutex_lock(&lock));
	over = true;
	CHECK_0(pthread_mutex_unlock(&lock));
	return arg;
}

/* Main has the lock nearly always, and interrupts who waits for it each time. */
static void pair(void)
{
	struct sigaction sa = { .sa_handler = acks, .sa_flags = SA_RESTART };
	pthread_t waiter;

	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	CHECK_0(pthread_mutex_lock(&lock));
	waiter = t_thread(gets_it, NULL);
	while (!over) {
		CHECK_0(pthread_kill(waiter, SIGUSR1));
		t_down(&ack);
		CHECK_0(pthread_mutex_unlock(&lock));
		for (volatile int k = 0; k < 3000; k++)
			;
		CHECK_0(pthread_mutex_lock(&lock));
	}
	CHECK_0(pthread_mutex_unlock(&lock));
	t_join(waiter);
	t_say("it has had the lock");
}

int main(int argc, char **argv)
{
	CHECK_0(sem_init(&ack, 0, 0));
	CHECK_0(sem_init(&done, 0, 0));
	if (argc > 1 && !strcmp(argv[1], "many"))
		many();
	else
		pair();
	return 0;
}
