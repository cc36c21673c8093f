/* Several threads in epoll_wait on one epoll: EPOLLEXCLUSIVE, one-shot. */
#include "t.h"
#include <sys/epoll.h>

enum { THREADS = 6, CONNS = 60 };

static int ep, listener, port, accepted;

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		struct epoll_event ev;
		int fd;

		CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
		fd = accept4(listener, NULL, NULL, 0);
		if (fd < 0) {
			CHECK(errno == EAGAIN);
			continue;
		}
		char c = t_get(fd);
		t_put(fd, c);
		t_close(fd);
		if (c == 'q')
			return NULL;
		__atomic_add_fetch(&accepted, 1, __ATOMIC_RELAXED);
	}
}

int main(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t th[THREADS];

	listener = t_listen(&port);
	CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
	ep = epoll_create1(0);
	CHECK(ep >= 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e) == 0);
	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(worker, NULL);
	for (int i = 0; i < CONNS + THREADS; i++) {
		int fd = t_connect(port);
		char c = i < CONNS ? 'c' : 'q';

		t_put(fd, c);
		CHECK(t_get(fd) == c);
		t_close(fd);
	}
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	t_say("%d connections", accepted);
	return 0;
}
