/*
 * Threads that compute, raise signals and sleep, or one that ignores a signal
 * again and again: for held.py.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_sig(int sig)
{
	(void)sig;
}

static void *raises(void *arg)
{
	for (;;) {
		raise(SIGUSR1);
		usleep(1000);
	}
	return arg;
}

static void *computes(void *arg)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return arg;
}

static void *ignores(void *arg)
{
	for (;;) {
		signal(SIGURG, SIG_IGN);
		usleep(1000);
	}
	return arg;
}

static void *sleeps(void *arg)
{
	for (;;)
		usleep(2000);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const fn[])(void *) = { raises, raises, computes, sleeps,
					ignores };
	unsigned first = argc > 1 ? 4 : 0, end = argc > 1 ? 5 : 4;
	pthread_t t;

	(void)argv;
	signal(SIGUSR1, on_sig);
	signal(SIGUSR2, on_sig);
	for (unsigned i = first; i < end; i++)
		if (pthread_create(&t, NULL, fn[i], NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
