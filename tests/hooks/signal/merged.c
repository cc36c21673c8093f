/*
 * A signal to the process that pends already is that one: sent twice while nobody can
 * handle it, it is handled once, by whoever it pends at. The other thread would take the
 * second one.
 */
#include "t.h"
#include <sys/wait.h>

static _Atomic int handled, by_main;
static pthread_t main_thread;

static void handler(int sig)
{
	(void)sig;
	handled++;
	by_main += pthread_equal(pthread_self(), main_thread) != 0;
	/* The other thread has time to take one. */
	for (int i = 0; i < 20; i++)
		t_settle();
}

static sem_t there;

/* While it begins it has all blocked, and takes what pends when it opens its mask. */
static void *waiter(void *arg)
{
	CHECK(sem_post(&there) == 0);
	sem_wait(arg);
	return arg;
}

static void pause_20ms(void)
{
	struct timespec ts = { 0, 20000000 };

	while (nanosleep(&ts, &ts))
		;
}

/* While a child of vfork() runs, its parent handles nothing. */
static void twice(int sig)
{
	volatile pid_t pid = vfork();

	if (pid == 0) {
		for (int i = 0; i < 2; i++) {
			kill(getppid(), sig);
			pause_20ms();
		}
		_exit(0);
	}
	CHECK(pid > 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t th;
	sem_t never;

	main_thread = pthread_self();
	CHECK(sem_init(&never, 0, 0) == 0);
	CHECK(sigaction(SIGTERM, &sa, NULL) == 0);
	CHECK(sigaction(SIGRTMIN + 1, &sa, NULL) == 0);
	CHECK(sem_init(&there, 0, 0) == 0);
	th = t_thread(waiter, &never);
	t_down(&there);
	for (int i = 0; i < 5; i++) {
		twice(SIGTERM);
		for (int k = 0; k < 20; k++)
			t_settle();
		t_say("SIGTERM: %d, %d by main", handled, by_main);
	}
	handled = by_main = 0;
	twice(SIGRTMIN + 1);
	while (handled < 2)
		t_settle();
	t_say("a real-time signal: %d", handled);
	CHECK(sem_post(&never) == 0);
	while (pthread_tryjoin_np(th, NULL) != 0)
		CHECK(sem_post(&never) == 0);
	return 0;
}
