/*
 * pthread_cancel through the trampoline: forced unwinding has to find the
 * destructors and cleanup handlers of every frame, whatever call the thread
 * waits in. Prints what ran, in order.
 */
#include <cstdio>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <thread>
#include <ctime>
#include <unistd.h>

static char trace[256];
static int pipes[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, ready;

struct mark {
	const char *name;
	explicit mark(const char *n) : name(n)
	{
	}
	~mark()
	{
		strcat(trace, name);
	}
};

static void cleanup(void *arg)
{
	strcat(trace, static_cast<const char *>(arg));
}

static void unlock(void *arg)
{
	strcat(trace, " unlock");
	pthread_mutex_unlock(static_cast<pthread_mutex_t *>(arg));
}

__attribute__((noinline)) static void in_read()
{
	mark m(" read");
	char c;

	sem_post(&ready);
	(void)!read(pipes[0], &c, 1);
}

__attribute__((noinline)) static void in_cond()
{
	mark m(" cond");

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

__attribute__((noinline)) static void in_sem()
{
	mark m(" sem");

	sem_post(&ready);
	sem_wait(&sem);
}

__attribute__((noinline)) static void in_sleep()
{
	mark m(" sleep");
	struct timespec ts = { 1000, 0 };

	sem_post(&ready);
	nanosleep(&ts, nullptr);
}

__attribute__((noinline)) static void in_poll()
{
	mark m(" poll");
	struct pollfd p = { pipes[0], POLLIN, 0 };

	sem_post(&ready);
	poll(&p, 1, -1);
}

__attribute__((noinline)) static void in_loop()
{
	/* No object here: a loop without calls has no landing pad. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
	sem_post(&ready);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void in_join()
{
	mark m(" join");
	pthread_t t;

	pthread_create(
		&t, nullptr,
		[](void *) -> void * {
			usleep(200000);
			return nullptr;
		},
		nullptr);
	pthread_detach(pthread_self());
	sem_post(&ready);
	pthread_join(t, nullptr);
}

static void *start(void *arg)
{
	mark m(" start");

	pthread_cleanup_push(cleanup, const_cast<char *>(" cleanup"));
	reinterpret_cast<void (*)()>(arg)();
	pthread_cleanup_pop(0);
	return nullptr;
}

static void run(const char *name, void (*fn)(), int join)
{
	pthread_t t;
	void *ret = nullptr;

	trace[0] = 0;
	pthread_create(&t, nullptr, start, reinterpret_cast<void *>(fn));
	sem_wait(&ready);
	usleep(20000);
	pthread_cancel(t);
	if (join)
		pthread_join(t, &ret);
	else
		usleep(300000);
	printf("%s:%s%s\n", name, trace,
	       ret == PTHREAD_CANCELED ? " canceled" : "");
}

int main()
{
	if (pipe(pipes))
		return 1;
	sem_init(&sem, 0, 0);
	sem_init(&ready, 0, 0);
	run("read", in_read, 1);
	run("cond", in_cond, 1);
	run("sem", in_sem, 1);
	run("sleep", in_sleep, 1);
	run("poll", in_poll, 1);
	run("loop", in_loop, 1);
	run("join", in_join, 0);
	try {
		std::thread t([] {
			try {
				mark m(" thrown");
				throw std::runtime_error("x");
			} catch (std::exception &e) {
				strcat(trace, " caught");
			}
		});
		t.join();
		printf("exception:%s\n", trace);
	} catch (...) {
		return 1;
	}
	return 0;
}
