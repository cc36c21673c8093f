/*
 * Threads that wait for each other in each way that fibhook dump can tell, until
 * SIGTERM. usage: waits [deadlock]: two more wait for each other for ever, and one
 * for one of them.
 */
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MANY 20

static sem_t ready, never;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t of_cond = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_t joined;
static pthread_barrier_t both;
static volatile int sink;

namespace pool
{
struct worker {
	/* A name that only C++ can read. */
	static NOINLINE void for_semaphore(const char *)
	{
		sem_post(&ready);
		sem_wait(&never);
		sink++;
	}
};
}

static NOINLINE void has_mutex()
{
	pthread_mutex_lock(&held);
	sem_post(&ready);
	sem_wait(&never);
	sink++;
}

static NOINLINE void for_mutex()
{
	sem_post(&ready);
	pthread_mutex_lock(&held);
	sink++;
}

static NOINLINE void for_condition()
{
	pthread_mutex_lock(&of_cond);
	sem_post(&ready);
	pthread_cond_wait(&cond, &of_cond);
	sink++;
}

static NOINLINE void for_rwlock()
{
	sem_post(&ready);
	pthread_rwlock_rdlock(&rwlock);
	sink++;
}

static NOINLINE void for_barrier()
{
	sem_post(&ready);
	pthread_barrier_wait(&barrier);
	sink++;
}

static NOINLINE void for_join()
{
	sem_post(&ready);
	pthread_join(joined, nullptr);
	sink++;
}

static NOINLINE void for_many()
{
	pool::worker::for_semaphore("x");
	sink++;
}

static NOINLINE void a_then_b()
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	sem_post(&ready);
	pthread_mutex_lock(&b);
	sink++;
}

static NOINLINE void b_then_a()
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	sem_post(&ready);
	pthread_mutex_lock(&a);
	sink++;
}

static NOINLINE void waits_for_them()
{
	sem_post(&ready);
	pthread_mutex_lock(&a);
	sink++;
}

static void *start(void *fn)
{
	(*(void (**)())fn)();
	return nullptr;
}

static pthread_t run(void (*fn)())
{
	static void (*fns[64])();
	static int n;
	pthread_t t;

	fns[n] = fn;
	if (pthread_create(&t, nullptr, start, &fns[n++]))
		_exit(1);
	return t;
}

static void await(int n)
{
	while (n--)
		sem_wait(&ready);
}

int main(int argc, char **argv)
{
	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	pthread_barrier_init(&barrier, nullptr, 2);
	pthread_barrier_init(&both, nullptr, 2);
	pthread_rwlock_wrlock(&rwlock);
	joined = run(has_mutex);
	await(1);
	for (auto fn : { for_mutex, for_condition, for_rwlock, for_barrier,
			 for_join })
		run(fn);
	for (int i = 0; i < MANY; i++)
		run(for_many);
	await(5 + MANY);
	if (argc > 1 && !strcmp(argv[1], "deadlock")) {
		run(a_then_b);
		run(b_then_a);
		await(2);
		run(waits_for_them);
		await(1);
	}
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
