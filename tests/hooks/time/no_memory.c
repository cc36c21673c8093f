/*
 * Waits with a time limit need no memory: natively who sleeps has his thread's stack for
 * that. All four threads wait for the first time when none is to be had any more. (Sleeps are
 * among the calls that are tried.)
 */
#include "t.h"
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>

enum { N = 4, MS = 2 };

static pthread_barrier_t limited;
static int p[2], ep;

static void *waits(void *arg)
{
	struct timespec ts = { 0, MS * T_MS }, at;
	struct timeval tv = { 0, MS * 1000 };
	struct pollfd one = { .fd = p[0], .events = POLLIN };
	struct epoll_event ev;
	fd_set set;
	sem_t sem;

	(void)arg;
	CHECK_0(sem_init(&sem, 0, 0));
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	pthread_barrier_wait(&limited);
	CHECK_0(nanosleep(&ts, NULL));
	CHECK_0(usleep(MS * 1000));
	CHECK_0(poll(&one, 1, MS));
	CHECK_0(select(p[0] + 1, &set, NULL, NULL, &tv));
	CHECK_0(epoll_wait(ep, &ev, 1, MS));
	CHECK_0(clock_gettime(CLOCK_REALTIME, &at));
	at.tv_nsec += MS * T_MS;
	if (at.tv_nsec >= T_SEC) {
		at.tv_nsec -= T_SEC;
		at.tv_sec++;
	}
	CHECK(sem_timedwait(&sem, &at) == -1 && errno == ETIMEDOUT);
	return NULL;
}

int main(void)
{
	struct rlimit all, none;
	pthread_t th[N];

	t_pipe(p);
	ep = epoll_create1(0);
	CHECK(ep >= 0);
	CHECK_0(pthread_barrier_init(&limited, NULL, N + 1));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(waits, NULL);
	CHECK_0(getrlimit(RLIMIT_AS, &all));
	none = all;
	none.rlim_cur = 1 << 20;
	CHECK_0(setrlimit(RLIMIT_AS, &none));
	pthread_barrier_wait(&limited);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_0(setrlimit(RLIMIT_AS, &all));
	t_say("all have waited");
	return 0;
}
