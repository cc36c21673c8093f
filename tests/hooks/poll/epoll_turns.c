/*
 * EPOLLONESHOT and EPOLLEXCLUSIVE among several who wait: an event of a one-shot
 * descriptor is one thread's, and there is none until it is armed anew; every
 * connection to a listener that several epoll descriptors have is accepted once.
 */
#include "../calls.h"
#include <sys/epoll.h>

enum { FDS = 20, THREADS = 4, ROUNDS = 10, CONNS = 100 };

static int ep, p[FDS][2], seen[FDS], busy[FDS], handled;

static void *one_shot(void *arg)
{
	struct epoll_event e;

	for (;;) {
		CHECK(epoll_wait(ep, &e, 1, -1) == 1);
		int i = (int)e.data.u32;

		if (i == FDS) /* the end: level-triggered, for all */
			return arg;
		CHECK(e.events == EPOLLIN);
		CHECK(__atomic_add_fetch(&busy[i], 1, __ATOMIC_SEQ_CST) == 1);
		t_get(p[i][0]);
		seen[i]++;
		CHECK(__atomic_sub_fetch(&busy[i], 1, __ATOMIC_SEQ_CST) == 0);
		e.events = EPOLLIN | EPOLLONESHOT;
		CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, p[i][0], &e) == 0);
		__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
	}
}

static void one_shots(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };
	pthread_t th[THREADS];
	int end[2];

	ep = epoll_create1(0);
	for (int i = 0; i < FDS; i++) {
		t_pipe(p[i]);
		e.data.u32 = (uint32_t)i;
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[i][0], &e) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(one_shot, NULL);
	for (int n = 0; n < ROUNDS; n++)
		for (int i = 0; i < FDS; i++)
			t_put(p[i][1], 'x');
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < FDS * ROUNDS)
		sched_yield();
	t_pipe(end);
	e = (struct epoll_event){ .events = EPOLLIN, .data.u32 = FDS };
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, end[0], &e) == 0);
	t_put(end[1], 'x');
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	for (int i = 0; i < FDS; i++)
		CHECK(seen[i] == ROUNDS);
	t_say("one-shot: %d events, each for one", FDS * ROUNDS);
	t_close(ep);
}

static int listener, eps[THREADS], taken;

static void *acceptor(void *arg)
{
	int mine = *(int *)arg;
	struct epoll_event e;

	for (;;) {
		CHECK(epoll_wait(mine, &e, 1, -1) == 1);
		if (e.data.u32)
			return NULL;
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

		if (fd < 0) {
			CHECK(errno == EAGAIN);
			continue;
		}
		t_put(fd, 'x');
		t_close(fd);
		__atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
	}
}

static void exclusive(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	pthread_t th[THREADS];
	int port, end[2];

	t_pipe(end);
	listener = t_listen(&port);
	CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
	for (int i = 0; i < THREADS; i++) {
		eps[i] = epoll_create1(0);
		e.data.u32 = 0;
		CHECK(epoll_ctl(eps[i], EPOLL_CTL_ADD, listener, &e) == 0);
		CHECK_ERR(epoll_ctl(eps[i], EPOLL_CTL_MOD, listener, &e),
			  EINVAL);
		e.data.u32 = 1;
		CHECK(epoll_ctl(eps[i], EPOLL_CTL_ADD, end[0],
				&(struct epoll_event){ .events = EPOLLIN,
						       .data.u32 = 1 }) == 0);
		th[i] = t_thread(acceptor, &eps[i]);
	}
	for (int i = 0; i < CONNS; i++) {
		int fd = t_connect(port);

		CHECK(t_get(fd) == 'x');
		t_close(fd);
	}
	t_put(end[1], 'x');
	for (int i = 0; i < THREADS; i++) {
		t_join(th[i]);
		t_close(eps[i]);
	}
	CHECK_ERR(epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, listener,
			    &(struct epoll_event){ .events = EPOLLIN |
							     EPOLLEXCLUSIVE |
							     EPOLLONESHOT }),
		  EINVAL);
	t_say("exclusive: %d connections", taken);
}

int main(void)
{
	one_shots();
	exclusive();
	return 0;
}
