/*
 * Threads that compute, raise signals and sleep, or main that ignores a signal
 * again and again, alone: nobody else waits for what it has. For held.py.
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

static void *ends(void *arg)
{
	return arg;
}

static void *sleeps(void *arg)
{
	for (;;)
		usleep(2000);
	return arg;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int ignores(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, ends, NULL) || pthread_join(t, NULL))
		return 1;
	say_ready();
	for (;;) {
		signal(SIGURG, SIG_IGN);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	void *(*const fn[])(void *) = { raises, raises, computes, sleeps };
	pthread_t t;

	(void)argv;
	signal(SIGUSR1, on_sig);
	signal(SIGUSR2, on_sig);
	if (argc > 1)
		return ignores();
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, fn[i], NULL))
			return 1;
	say_ready();
	for (;;)
		pause();
}
