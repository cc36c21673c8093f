/*
 * Handlers run while main is in pthread_join, cond_wait or mutex_lock, none
 * of which a signal ends.
 * t-case: join thread
 * t-case: join child
 * t-case: cond_wait thread
 * t-case: cond_wait child
 * t-case: cond_timedwait thread
 * t-case: mutex_lock thread
 * t-case: mutex_lock child
 * t-case: rwlock child
 * t-case: barrier child
 */
#include "poke.h"

static volatile int hits;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER, lk;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t bar;
static int flag, ready;

static void on_sig(int sig)
{
	(void)sig;
	hits++;
}

static void *other(void *arg)
{
	const char *what = arg;
	sigset_t all;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	CHECK_0(pthread_mutex_lock(&lk));
	CHECK_0(pthread_rwlock_wrlock(&rw));
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	while (hits < 10)
		sched_yield();
	CHECK_0(pthread_mutex_lock(&mu));
	flag = 1;
	CHECK_0(pthread_cond_signal(&cond));
	CHECK_0(pthread_mutex_unlock(&mu));
	CHECK_0(pthread_mutex_unlock(&lk));
	CHECK_0(pthread_rwlock_unlock(&rw));
	if (strcmp(what, "barrier") == 0)
		pthread_barrier_wait(&bar);
	return arg;
}

int main(int argc, char **argv)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 100 * T_SEC);
	struct t_poker poker;
	const char *what;
	pthread_t th;

	CHECK(argc == 3);
	what = argv[1];
	CHECK_0(pthread_barrier_init(&bar, NULL, 2));
	CHECK_0(pthread_mutex_init(&lk, NULL));
	t_handle(SIGUSR1, on_sig, 0);
	th = t_thread(other, argv[1]);
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		sched_yield();
	t_poke(&poker, SIGUSR1,
	       argv[2][0] == 'c' ? T_FROM_CHILD : T_FROM_THREAD);
	if (strcmp(what, "mutex_lock") == 0)
		CHECK_0(pthread_mutex_lock(&lk));
	else if (strcmp(what, "rwlock") == 0)
		CHECK_0(pthread_rwlock_rdlock(&rw));
	else if (strcmp(what, "barrier") == 0)
		pthread_barrier_wait(&bar);
	else if (strcmp(what, "join") != 0) {
		CHECK_0(pthread_mutex_lock(&mu));
		while (!flag)
			if (strcmp(what, "cond_wait") == 0)
				CHECK_0(pthread_cond_wait(&cond, &mu));
			else
				CHECK_0(pthread_cond_timedwait(&cond, &mu,
							       &ts));
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	t_join(th);
	CHECK(hits >= 10);
	t_unpoke(&poker);
	t_say("%s went on", what);
	return 0;
}
