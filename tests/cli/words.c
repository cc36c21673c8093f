/*
 * A thread waits 10 times for 30 ms at one word, which is printed, between waits
 * of 1 us at 500 others that come in turn.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int words[501];

static void wait_for(int *word, long ns)
{
	struct timespec ts = { 0, ns };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static void *run(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		wait_for(&words[1 + i % 500], 1000);
		if (i % 100 == 0)
			wait_for(&words[0], 30000000);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, NULL))
		return 1;
	pthread_join(t, NULL);
	printf("%p\n", (void *)&words[0]);
	return 0;
}
