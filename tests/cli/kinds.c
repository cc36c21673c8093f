/*
 * A thread in each of libc's functions that wait for another thread, by a futex: in a
 * function whose name begins with for_ and the kind of the wait. All of them wait
 * for 0.3 s from when all have begun.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define WAIT_US	 300000

static volatile int sink;
static atomic_uint begun;
static pthread_mutex_t mutex[3], of_cond[3];
static pthread_cond_t cond[3];
static mtx_t mtx[2], of_cnd[2];
static cnd_t cnd[2];
static pthread_rwlock_t rwlock[6];
static pthread_barrier_t barrier;
static sem_t sem[3];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static pthread_t ends[3];
static thrd_t thrd_ends;

static struct timespec in_a_minute(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += 60;
	return ts;
}

static void nothing(void)
{
}

#define REAL (&(struct timespec[1]){ in_a_minute(CLOCK_REALTIME) }[0])
#define MONO                                                                   \
	CLOCK_MONOTONIC,                                                       \
		(&(struct timespec[1]){ in_a_minute(CLOCK_MONOTONIC) }[0])

/* What follows the call keeps it from being the last: a frame of its own. */
#define WAIT(kind, call)                                                       \
	static NOINLINE void *for_##kind(void *arg)                            \
	{                                                                      \
		begun++;                                                       \
		call;                                                          \
		sink++;                                                        \
		return arg;                                                    \
	}

#define WITH(lock, unlock, m, call) (lock(m), call, unlock(m))
#define WITH_MUTEX(m, call)                                                    \
	WITH(pthread_mutex_lock, pthread_mutex_unlock, m, call)
#define WITH_MTX(m, call) WITH(mtx_lock, mtx_unlock, m, call)

WAIT(mutex, pthread_mutex_lock(&mutex[0]))
WAIT(mutex_timed, pthread_mutex_timedlock(&mutex[1], REAL))
WAIT(mutex_clock, pthread_mutex_clocklock(&mutex[2], MONO))
WAIT(mutex_mtx, mtx_lock(&mtx[0]))
WAIT(mutex_mtx_timed, mtx_timedlock(&mtx[1], REAL))
WAIT(condition,
     WITH_MUTEX(&of_cond[0], pthread_cond_wait(&cond[0], &of_cond[0])))
WAIT(condition_timed,
     WITH_MUTEX(&of_cond[1],
		pthread_cond_timedwait(&cond[1], &of_cond[1], REAL)))
WAIT(condition_clock,
     WITH_MUTEX(&of_cond[2],
		pthread_cond_clockwait(&cond[2], &of_cond[2], MONO)))
WAIT(condition_cnd, WITH_MTX(&of_cnd[0], cnd_wait(&cnd[0], &of_cnd[0])))
WAIT(condition_cnd_timed,
     WITH_MTX(&of_cnd[1], cnd_timedwait(&cnd[1], &of_cnd[1], REAL)))
WAIT(rwlock_read, pthread_rwlock_rdlock(&rwlock[0]))
WAIT(rwlock_write, pthread_rwlock_wrlock(&rwlock[1]))
WAIT(rwlock_read_timed, pthread_rwlock_timedrdlock(&rwlock[2], REAL))
WAIT(rwlock_write_timed, pthread_rwlock_timedwrlock(&rwlock[3], REAL))
WAIT(rwlock_read_clock, pthread_rwlock_clockrdlock(&rwlock[4], MONO))
WAIT(rwlock_write_clock, pthread_rwlock_clockwrlock(&rwlock[5], MONO))
WAIT(barrier, pthread_barrier_wait(&barrier))
WAIT(semaphore, sem_wait(&sem[0]))
WAIT(semaphore_timed, sem_timedwait(&sem[1], REAL))
WAIT(semaphore_clock, sem_clockwait(&sem[2], MONO))
WAIT(once, pthread_once(&once, nothing))
WAIT(once_call, call_once(&flag, nothing))
WAIT(join, pthread_join(ends[0], NULL))
WAIT(join_timed, pthread_timedjoin_np(ends[1], NULL, REAL))
WAIT(join_clock, pthread_clockjoin_np(ends[2], NULL, MONO))
WAIT(join_thrd, thrd_join(thrd_ends, NULL))

static void *(*const waits[])(void *) = {
	for_mutex,
	for_mutex_timed,
	for_mutex_clock,
	for_mutex_mtx,
	for_mutex_mtx_timed,
	for_condition,
	for_condition_timed,
	for_condition_clock,
	for_condition_cnd,
	for_condition_cnd_timed,
	for_rwlock_read,
	for_rwlock_write,
	for_rwlock_read_timed,
	for_rwlock_write_timed,
	for_rwlock_read_clock,
	for_rwlock_write_clock,
	for_barrier,
	for_semaphore,
	for_semaphore_timed,
	for_semaphore_clock,
	for_once,
	for_once_call,
	for_join,
	for_join_timed,
	for_join_clock,
	for_join_thrd,
};
static pthread_t threads[COUNT(waits)];

/* The length of the waits. */
static void sleep_from_when_all_wait(void)
{
	while (begun < COUNT(waits))
		sched_yield();
	usleep(WAIT_US);
}

static void *sleeps(void *arg)
{
	sleep_from_when_all_wait();
	return arg;
}

static int sleeps_too(void *arg)
{
	return sleeps(arg) != NULL;
}

static void start(pthread_t *t, void *(*fn)(void *))
{
	if (pthread_create(t, NULL, fn, NULL))
		exit(1);
}

static void take_all(void)
{
	for (size_t i = 0; i < COUNT(mutex); i++)
		pthread_mutex_lock(&mutex[i]);
	for (size_t i = 0; i < COUNT(mtx); i++) {
		mtx_init(&mtx[i], mtx_timed);
		mtx_lock(&mtx[i]);
		mtx_init(&of_cnd[i], mtx_plain);
		cnd_init(&cnd[i]);
	}
	for (size_t i = 0; i < COUNT(rwlock); i++)
		pthread_rwlock_wrlock(&rwlock[i]);
	for (size_t i = 0; i < COUNT(sem); i++)
		sem_init(&sem[i], 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
}

static void give_all(void)
{
	for (size_t i = 0; i < COUNT(mutex); i++)
		pthread_mutex_unlock(&mutex[i]);
	for (size_t i = 0; i < COUNT(mtx); i++) {
		mtx_unlock(&mtx[i]);
		cnd_signal(&cnd[i]);
	}
	for (size_t i = 0; i < COUNT(cond); i++)
		pthread_cond_signal(&cond[i]);
	for (size_t i = 0; i < COUNT(rwlock); i++)
		pthread_rwlock_unlock(&rwlock[i]);
	for (size_t i = 0; i < COUNT(sem); i++)
		sem_post(&sem[i]);
	pthread_barrier_wait(&barrier);
}

/* The two that are to be done once are under way meanwhile. */
static void wait_in_all(void)
{
	for (size_t i = 0; i < COUNT(ends); i++)
		start(&ends[i], sleeps);
	if (thrd_create(&thrd_ends, sleeps_too, NULL) != thrd_success)
		exit(1);
	for (size_t i = 0; i < COUNT(waits); i++)
		start(&threads[i], waits[i]);
	sleep_from_when_all_wait();
}

static void call_it_once(void)
{
	call_once(&flag, wait_in_all);
}

int main(void)
{
	take_all();
	pthread_once(&once, call_it_once);
	give_all();
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	return 0;
}
