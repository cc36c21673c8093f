/*
 * Descriptors without a name that are older than the first thread, and are added to an
 * epoll descriptor after it: none of them is one whose poll tells of a change once (as
 * perf_event_open()'s), and who waits there needs no kernel thread for that.
 *
 * t-case:
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include "../calls.h"

enum { WAITERS = 40, KINDS = 5, MOST_KERNEL_THREADS = 24 };

static int older[KINDS];
static int ep[WAITERS];
static sem_t end;

static void make(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	older[0] = eventfd(0, 0);
	older[1] = timerfd_create(CLOCK_MONOTONIC, 0);
	older[2] = signalfd(-1, &set, 0);
	older[3] = inotify_init();
	older[4] = epoll_create1(0);
	for (int i = 0; i < KINDS; i++)
		CHECK(older[i] >= 0);
}

static void *waits(void *arg)
{
	struct epoll_event e[KINDS];

	CHECK(epoll_wait(*(int *)arg, e, KINDS, -1) == 1);
	CHECK(e[0].events == EPOLLIN && e[0].data.fd == older[0]);
	return arg;
}

static void *downs(void *arg)
{
	t_down(&end);
	return arg;
}

int main(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t th[WAITERS], first;
	uint64_t one = 1;

	make();
	CHECK(sem_init(&end, 0, 0) == 0);
	first = t_thread(downs, NULL);
	for (int i = 0; i < WAITERS; i++) {
		ep[i] = epoll_create1(0);
		CHECK(ep[i] >= 0);
		for (int k = 0; k < KINDS; k++) {
			e.data.fd = older[k];
			CHECK(epoll_ctl(ep[i], EPOLL_CTL_ADD, older[k], &e) ==
			      0);
		}
		th[i] = t_thread(waits, &ep[i]);
	}
	t_pause();
	CHECK(!getenv("T_HOOKED") || t_kernel_threads() <= MOST_KERNEL_THREADS);
	CHECK(write(older[0], &one, sizeof(one)) == sizeof(one));
	for (int i = 0; i < WAITERS; i++)
		t_join(th[i]);
	CHECK(sem_post(&end) == 0);
	t_join(first);
	t_say("%d waited", WAITERS);
	return 0;
}
