/*
 * A thread that has left the others' table of descriptors is cancelled in its waits, as
 * any other, and before a wait for what is there.
 */
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "t.h"

static int p[2], sv[2], listener, cleaned;

static void waits_in(int call)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd pf = { .fd = p[0], .events = POLLIN };
	struct iovec iov = { .iov_base = &ev, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	static char much[1 << 20];
	fd_set r;
	int ep;

	switch (call) {
	case 0:
		read(p[0], much, 1);
		break;
	case 1:
		readv(p[0], &iov, 1);
		break;
	case 2:
		accept(listener, NULL, NULL);
		break;
	case 3:
		recv(sv[0], much, 1, 0);
		break;
	case 4:
		recvmsg(sv[0], &msg, 0);
		break;
	case 5:
		poll(&pf, 1, -1);
		break;
	case 6:
		FD_ZERO(&r);
		FD_SET(p[0], &r);
		select(p[0] + 1, &r, NULL, NULL, NULL);
		break;
	case 7:
		ep = epoll_create1(0);
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0);
		epoll_wait(ep, &ev, 1, -1);
		break;
	case 8:
		for (;;)
			CHECK(write(p[1], much, sizeof(much)) >= 0);
	case 9:
		for (;;)
			CHECK(send(sv[0], much, sizeof(much), 0) >= 0);
	}
}

enum { CALLS = 10 };

static void clean(void *arg)
{
	cleaned += arg == &cleaned;
}

static void *waits(void *arg)
{
	pthread_cleanup_push(clean, &cleaned);
	CHECK(unshare(CLONE_FILES) == 0);
	waits_in((int)(intptr_t)arg);
	CHECK(!"cancelled");
	pthread_cleanup_pop(0);
	return NULL;
}

static void *looks_first(void *arg)
{
	CHECK(unshare(CLONE_FILES) == 0);
	CHECK_0(pthread_cancel(pthread_self()));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	CHECK(t_get(p[0]) == '1');
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	t_get(p[0]);
	return arg;
}

static void *result(pthread_t th)
{
	void *r;

	CHECK_0(pthread_join(th, &r));
	return r;
}

int main(void)
{
	pthread_t th;

	t_pipe(p);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	CHECK(listen(listener, 1) == 0);
	t_put(p[1], '1');
	t_put(p[1], '2');
	th = t_thread(looks_first, NULL);
	CHECK(result(th) == PTHREAD_CANCELED);
	CHECK(t_get(p[0]) == '2');
	t_say("not before the wait that is disabled");
	for (intptr_t i = 0; i < CALLS; i++) {
		cleaned = 0;
		th = t_thread(waits, (void *)i);
		t_settle();
		CHECK_0(pthread_cancel(th));
		CHECK(result(th) == PTHREAD_CANCELED && cleaned == 1);
		t_say("cancelled in call %d", (int)i);
	}
	return 0;
}
