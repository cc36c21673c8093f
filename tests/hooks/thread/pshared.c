/* Mutex, condition variable, semaphore, barrier shared with a child. */
#include "t.h"

enum { TURNS = 300, THREADS = 3 };

static struct shared {
	pthread_mutex_t mu, robust, checked;
	pthread_cond_t cond;
	pthread_barrier_t bar;
	pthread_rwlock_t rw;
	sem_t sem;
	int turn;
	long counter;
} * s;

static void alternate(int me)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_mutex_lock(&s->mu));
		while (s->turn % 2 != me)
			CHECK_0(pthread_cond_wait(&s->cond, &s->mu));
		s->turn++;
		CHECK_0(pthread_cond_broadcast(&s->cond));
		CHECK_0(pthread_mutex_unlock(&s->mu));
	}
}

static void *count(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_mutex_lock(&s->checked));
		long c = s->counter;
		if (i % 16 == 0)
			sched_yield();
		s->counter = c + 1;
		CHECK_0(pthread_mutex_unlock(&s->checked));
	}
	return arg;
}

static void count_in_threads(void)
{
	pthread_t th[THREADS];

	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(count, NULL);
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
}

int main(void)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	pthread_barrierattr_t ba;
	pthread_rwlockattr_t ra;
	pid_t pid;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	CHECK_0(pthread_mutexattr_init(&ma));
	CHECK_0(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_mutex_init(&s->mu, &ma));
	CHECK_0(pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK));
	CHECK_0(pthread_mutex_init(&s->checked, &ma));
	CHECK_0(pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_NORMAL));
	CHECK_0(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
	CHECK_0(pthread_mutex_init(&s->robust, &ma));
	CHECK_0(pthread_condattr_init(&ca));
	CHECK_0(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_cond_init(&s->cond, &ca));
	CHECK_0(pthread_barrierattr_init(&ba));
	CHECK_0(pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_barrier_init(&s->bar, &ba, 2));
	CHECK_0(pthread_rwlockattr_init(&ra));
	CHECK_0(pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_rwlock_init(&s->rw, &ra));
	CHECK(sem_init(&s->sem, 1, 0) == 0);
	t_be_threaded();
	pid = fork();
	CHECK(pid >= 0);
	alternate(pid == 0);
	pthread_barrier_wait(&s->bar);
	count_in_threads();
	pthread_barrier_wait(&s->bar);
	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			CHECK(sem_post(&s->sem) == 0);
		CHECK_0(pthread_mutex_lock(&s->robust));
		CHECK_0(pthread_rwlock_wrlock(&s->rw));
		pthread_barrier_wait(&s->bar);
		t_settle();
		CHECK_0(pthread_rwlock_unlock(&s->rw));
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		CHECK(sem_wait(&s->sem) == 0);
	pthread_barrier_wait(&s->bar);
	CHECK_0(pthread_rwlock_rdlock(&s->rw));
	CHECK_0(pthread_rwlock_unlock(&s->rw));
	CHECK_RC(pthread_mutex_lock(&s->robust), EOWNERDEAD);
	CHECK_0(pthread_mutex_consistent(&s->robust));
	CHECK_0(pthread_mutex_unlock(&s->robust));
	t_wait_ok(pid);
	t_say("turns %d, counter %ld", s->turn, s->counter);
	return 0;
}
