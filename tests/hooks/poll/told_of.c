/*
 * A nice thread, which has a kernel thread to itself, is told of two descriptors that have
 * something to read, and reads one of them twice: the second read waits, for what comes
 * later, for its time limit, or not at all. What another thread has taken meanwhile is
 * waited for as well.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include "../calls.h"

static int a[2], b[2], ep;
static pthread_barrier_t step;

static void *helps(void *arg)
{
	char c[8];

	for (int how = 0; how < 3; how++) {
		t_write(a[1], "x", 1);
		t_write(b[1], "y", 1);
		pthread_barrier_wait(&step);
		/* It waits for a. */
		t_pause();
		t_write(a[1], "z", 1);
		pthread_barrier_wait(&step);
		/* It has been told of b. */
		CHECK(read(b[0], c, sizeof(c)) == 1);
		pthread_barrier_wait(&step);
		t_pause();
		t_write(b[1], "whole", 5);
		pthread_barrier_wait(&step);
	}
	return arg;
}

static void is_told(int how)
{
	struct pollfd p[2] = { { a[0], POLLIN, 0 }, { b[0], POLLIN, 0 } };
	struct epoll_event ev[2];
	fd_set set;

	FD_ZERO(&set);
	FD_SET(a[0], &set);
	FD_SET(b[0], &set);
	if (how == 0)
		CHECK(poll(p, 2, 1000) == 2);
	else if (how == 1)
		CHECK(select((a[0] > b[0] ? a[0] : b[0]) + 1, &set, NULL, NULL,
			     NULL) == 2);
	else
		CHECK(epoll_wait(ep, ev, 2, 1000) == 2);
}

static void *reads(void *arg)
{
	struct timeval some = { 0, 30000 };
	char c[8];

	CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
	for (int how = 0; how < 3; how++) {
		pthread_barrier_wait(&step);
		is_told(how);
		CHECK(read(a[0], c, sizeof(c)) == 1 && *c == 'x');
		CHECK(read(a[0], c, sizeof(c)) == 1 && *c == 'z');
		CHECK_ERR(recv(a[0], c, 1, MSG_DONTWAIT), EAGAIN);
		pthread_barrier_wait(&step);
		pthread_barrier_wait(&step);
		CHECK(recv(b[0], c, 5, MSG_WAITALL) == 5 &&
		      !memcmp(c, "whole", 5));
		CHECK_0(setsockopt(b[0], SOL_SOCKET, SO_RCVTIMEO, &some,
				   sizeof(some)));
		CHECK_ERR(read(b[0], c, sizeof(c)), EAGAIN);
		CHECK_0(setsockopt(b[0], SOL_SOCKET, SO_RCVTIMEO,
				   &(struct timeval){ 0, 0 }, sizeof(some)));
		pthread_barrier_wait(&step);
	}
	return arg;
}

int main(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pthread_t t;

	CHECK_0(pthread_barrier_init(&step, NULL, 2));
	t_pair(a);
	t_pair(b);
	ep = epoll_create1(0);
	CHECK(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, a[0], &ev) &&
	      !epoll_ctl(ep, EPOLL_CTL_ADD, b[0], &ev));
	t = t_thread(helps, NULL);
	t_join(t_thread(reads, NULL));
	t_join(t);
	t_say("each in its turn");
	return 0;
}
