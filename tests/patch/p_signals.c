/*
 * Signals that arrive anywhere between a site and the kernel, at a high rate:
 * every byte written is read, every interrupted call is reported as natively,
 * and handlers that jump out do no harm.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long ticks;
static int pipes[2];
static sigjmp_buf env;
static volatile int jumping;

static void on_alarm(int sig)
{
	int saved = errno;

	ticks++;
	getppid();
	errno = saved;
	if (jumping)
		siglongjmp(env, 1);
}

static void storm(int flags, long usec)
{
	struct itimerval it = { { 0, usec }, { 0, usec } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

static void *writer(void *arg)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (uint32_t i = 0; i < 30000; i++)
		if (write(pipes[1], &i, 4) != 4)
			abort();
	return NULL;
}

static long transfer(void)
{
	pthread_t t;
	uint32_t v;
	long bad = 0;

	pthread_create(&t, NULL, writer, NULL);
	for (uint32_t i = 0; i < 30000; i++) {
		ssize_t n;

		do
			n = read(pipes[0], &v, 4);
		while (n < 0 && errno == EINTR);
		bad += n != 4 || v != i;
	}
	pthread_join(t, NULL);
	return bad;
}

int main(void)
{
	struct timespec ts = { 10, 0 };
	volatile long jumps = 0;
	char c;

	if (pipe(pipes))
		return 1;
	storm(SA_RESTART, 150);
	printf("restarted: %ld bad\n", transfer());
	storm(0, 150);
	printf("interrupted: %ld bad\n", transfer());
	storm(0, 2000);
	printf("sleep: %d", nanosleep(&ts, &ts));
	printf(" %s\n", errno == EINTR ? "EINTR" : "-");
	printf("read: %zd", read(pipes[0], &c, 1));
	printf(" %s\n", errno == EINTR ? "EINTR" : "-");
	while (jumps < 200) {
		if (!sigsetjmp(env, 1)) {
			jumping = 1;
			for (;;)
				(void)!read(pipes[0], &c, 1);
		}
		jumping = 0;
		jumps++;
	}
	storm(SA_RESTART, 0);
	printf("jumps %ld, ticks %s\n", jumps, ticks > 200 ? "many" : "few");
	return 0;
}
