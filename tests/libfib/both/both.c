/*
 * A program that uses the library, and threads beside it. Run by itself and
 * under libfibhook.so it says the same.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fib.h"

#define CHECK(cond)                                                            \
	((cond) ?                                                              \
		 (void)0 :                                                     \
		 (fprintf(stderr, "line %d: %s\n", __LINE__, #cond), exit(1)))
#define PAIRS 20
#define TURNS 50

static struct fib_sched *sched;
static struct fib_mutex mutex = FIB_MUTEX_INIT;
static atomic_int echoed, beats, tasks;
static int sv[PAIRS][2], total;

static void echo(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (fib_read(fd, &c, 1, FIB_NEVER) == 1) {
		CHECK(fib_write_all(fd, &c, 1, FIB_NEVER) == 0);
		CHECK(fib_mutex_lock(&mutex) == 0);
		total++;
		CHECK(fib_mutex_unlock(&mutex) == 0);
	}
	CHECK(fib_close(fd) == 0);
}

/* A plain thread, which blocks in the plain calls: a fiber when hooked. */
static void *client(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < TURNS; i++) {
		char out = (char)i, in = 0;

		CHECK(write(fd, &out, 1) == 1);
		CHECK(read(fd, &in, 1) == 1);
		CHECK(in == out);
		echoed++;
	}
	close(fd);
	return NULL;
}

static void beat(void *arg)
{
	beats++;
}

static void pinned(void *arg)
{
	CHECK(fib_sched_thread() == (int)(intptr_t)arg);
	CHECK(fib_sleep(1000000) == 0);
	CHECK(fib_sched_thread() == (int)(intptr_t)arg);
	tasks++;
}

int main(void)
{
	pthread_t t[PAIRS];

	CHECK(fib_sched_create(&sched, 3, true, "both") == 0);
	CHECK(fib_sched_start(sched) == 0);
	for (int i = 0; i < PAIRS; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv[i]) == 0);
		CHECK(fib_sched_submit(sched, echo, &sv[i][0],
				       FIB_ANY_THREAD) == 0);
		CHECK(pthread_create(&t[i], NULL, client, &sv[i][1]) == 0);
	}
	for (int i = 0; i < 10; i++)
		CHECK(fib_timer_add(sched, (uint64_t)i * 1000000, 0, beat, NULL,
				    NULL) > 0);
	for (intptr_t i = 0; i < 30; i++)
		CHECK(fib_sched_submit(sched, pinned, (void *)(i % 3),
				       (int)(i % 3)) == 0);
	CHECK(fib_sched_stop(sched) == 0);
	for (int i = 0; i < PAIRS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(fib_sched_destroy(sched) == 0);
	printf("echoed %d, total %d, beats %d, tasks %d\n", echoed, total,
	       beats, tasks);
	return 0;
}
