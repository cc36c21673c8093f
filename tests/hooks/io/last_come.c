/*
 * Two who wait for one epoll descriptor: the last to come is the first to be
 * served. A one-shot event is disarmed while the other waits, and comes when it is
 * armed anew, where it is ready.
 *
 * t-chaos-but epoll_loop: who is served first waits in fibers, not in the kernel
 */
#include "../calls.h"
#include <sys/epoll.h>

static long wait_one(void *arg)
{
	struct epoll_event e;

	return epoll_wait(*(int *)arg, &e, 1, -1) == 1 ? (long)e.events : -1;
}

int main(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };
	struct t_call a, b;
	int ep, q[2];

	ep = epoll_create1(0);
	t_pipe(q);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, q[0], &e) == 0);
	t_begin(&a, wait_one, &ep);
	t_begin(&b, wait_one, &ep);
	t_put(q[1], 'x');
	/* The last to come is the first to be served. */
	t_ended("one", &b);
	t_put(q[1], 'x');
	t_waits(&a);
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, q[0], &e) == 0);
	t_ended("armed anew", &a);
	t_begin(&a, wait_one, &ep);
	t_waits(&a);
	e.events = EPOLLIN | EPOLLET;
	CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, q[0], &e) == 0);
	t_ended("as an edge", &a);
	t_close(ep);
	return 0;
}
