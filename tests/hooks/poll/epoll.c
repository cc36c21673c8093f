/* An epoll loop in a thread, other threads blocking as they like. */
#include "t.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { N = 50, ROUNDS = 40 };

static int sv[N][2], stop_fd;

static void *loop(void *arg)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), served = 0;
	struct epoll_event ev[16];
	unsigned flags = (unsigned)(uintptr_t)arg;

	CHECK(ep >= 0);
	for (int i = 0; i < N; i++) {
		struct epoll_event e = { .events = EPOLLIN | flags,
					 .data.u32 = (uint32_t)i };

		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, sv[i][0], &e) == 0);
		CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_ADD, sv[i][0], &e), EEXIST);
	}
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = 9999 };
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, stop_fd, &e) == 0);
	for (;;) {
		int n = epoll_wait(ep, ev, 16, -1);

		CHECK(n > 0);
		for (int k = 0; k < n; k++) {
			uint32_t i = ev[k].data.u32;
			char c;

			if (i == 9999) {
				t_close(ep);
				return (void *)(intptr_t)served;
			}
			CHECK(ev[k].events == EPOLLIN);
			while (recv(sv[i][0], &c, 1, MSG_DONTWAIT) == 1) {
				t_put(sv[i][0], (char)(c + 1));
				served++;
			}
			if (flags & EPOLLONESHOT) {
				e = (struct epoll_event){
					.events = EPOLLIN | flags, .data.u32 = i
				};
				CHECK(epoll_ctl(ep, EPOLL_CTL_MOD, sv[i][0],
						&e) == 0);
			}
		}
	}
}

static void *client(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		t_put(fd, (char)i);
		CHECK(t_get(fd) == (char)(i + 1));
	}
	return NULL;
}

static void run(const char *what, unsigned flags)
{
	pthread_t l, c[N];
	uint64_t one = 1;

	stop_fd = eventfd(0, 0);
	CHECK(stop_fd >= 0);
	l = t_thread(loop, (void *)(uintptr_t)flags);
	for (int i = 0; i < N; i++)
		c[i] = t_thread(client, &sv[i][1]);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_write(stop_fd, &one, sizeof(one));
	t_say("%s: %d served", what, (int)(intptr_t)t_join(l));
	t_close(stop_fd);
}

static void *waiting(void *arg)
{
	struct epoll_event ev;
	int n = epoll_wait(*(int *)arg, &ev, 1, 10000);

	CHECK(n == 1);
	return NULL;
}

static void details(void)
{
	int ep = epoll_create1(0), outer = epoll_create1(0), p[2];
	struct epoll_event e = { .events = EPOLLIN }, ev[4];
	struct pollfd pf;
	struct timespec ts = { 0, 20 * T_MS };
	pthread_t th;
	long long t0;

	CHECK(ep >= 0 && outer >= 0);
	CHECK(epoll_wait(ep, ev, 4, 0) == 0);
	t0 = t_now();
	CHECK(epoll_wait(ep, ev, 4, 20) == 0);
	T_TOOK(t0, 20 * T_MS);
	t0 = t_now();
	CHECK(epoll_pwait2(ep, ev, 4, &ts, NULL) == 0);
	T_TOOK(t0, 20 * T_MS);
	CHECK_ERR(epoll_wait(ep, ev, 0, 0), EINVAL);
	CHECK_ERR(epoll_wait(-1, ev, 1, 0), EBADF);
	CHECK_ERR(epoll_wait(0, ev, 1, 0), EINVAL);
	t_pipe(p);
	/* A descriptor that is added while somebody already waits. */
	th = t_thread(waiting, &ep);
	t_settle();
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e) == 0);
	CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, ep, &e) == 0);
	t_settle();
	t_put(p[1], 'x');
	t_join(th);
	pf = (struct pollfd){ outer, POLLIN, 0 };
	CHECK(poll(&pf, 1, 10000) == 1);
	CHECK(epoll_wait(outer, ev, 4, -1) == 1);
	t_get(p[0]);
	CHECK(poll(&pf, 1, 0) == 0);
	th = t_thread(waiting, &outer);
	t_settle();
	t_put(p[1], 'x');
	t_join(th);
	t_close(ep);
	t_close(outer);
	t_say("details");
}

int main(void)
{
	for (int i = 0; i < N; i++)
		t_pair(sv[i]);
	run("level", 0);
	run("edge", EPOLLET);
	run("oneshot", EPOLLONESHOT);
	details();
	return 0;
}
