/*
 * Two threads hand a turn to and fro, so that one of them runs at any time.
 *
 * usage: hop HOW ROUNDS [nice]
 *
 *	sem	by two semaphores
 *	cond	by a mutex and a condition variable, signalled under the mutex
 *	futex	by futex(2), without spinning
 *	yield	by sched_yield(), as long as it is the other's
 *
 * With nice, both have a nice value of their own, and so a kernel thread each.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "t.h"

struct way {
	const char *name;
	void (*pass)(int to);
	void (*await)(int me);
};

static const struct way *way;
static long rounds;

/* --- semaphores ------------------------------------------------------------ */

static sem_t sem[2];

static void sem_pass(int to)
{
	CHECK(!sem_post(&sem[to]));
}

static void sem_await(int me)
{
	while (sem_wait(&sem[me]))
		;
}

/* --- a condition ----------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void cond_pass(int to)
{
	pthread_mutex_lock(&lock);
	turn = to;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void cond_await(int me)
{
	pthread_mutex_lock(&lock);
	while (turn != me)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* --- words ----------------------------------------------------------------- */

static int word;

static void futex_pass(int to)
{
	__atomic_store_n(&word, to, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(int me)
{
	while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != me)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, !me, NULL, NULL,
			0);
}

/* --- yields ---------------------------------------------------------------- */

static void yield_pass(int to)
{
	__atomic_store_n(&word, to, __ATOMIC_SEQ_CST);
}

static void yield_await(int me)
{
	while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != me)
		sched_yield();
}

static const struct way ways[] = {
	{ "sem", sem_pass, sem_await },
	{ "cond", cond_pass, cond_await },
	{ "futex", futex_pass, futex_await },
	{ "yield", yield_pass, yield_await },
};

static bool is_nice;

static void settle_in(void)
{
	if (is_nice)
		CHECK(!setpriority(PRIO_PROCESS, 0, 1));
}

static void *peer(void *arg)
{
	settle_in();
	for (long i = 0; i < rounds; i++) {
		way->await(1);
		way->pass(0);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	CHECK(argc == 3 || argc == 4);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			way = &ways[i];
	CHECK(way);
	rounds = atol(argv[2]);
	sem_init(&sem[0], 0, 0);
	sem_init(&sem[1], 0, 0);
	is_nice = argc == 4;
	CHECK(!pthread_create(&t, NULL, peer, NULL));
	settle_in();
	for (long i = 0; i < rounds; i++) {
		way->pass(1);
		way->await(0);
	}
	CHECK(!pthread_join(t, NULL));
	return 0;
}
