/*
 * A thread that leaves the others' table of descriptors: the same numbers are
 * other files to it, and to the threads that it creates.
 *
 * t-case: close_range
 * t-case: unshare
 * t-case: alone
 */
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "t.h"

static int p[2], q[2];
static int by_unshare;

static void *writes(void *arg)
{
	for (int i = 0; i < 5; i++) {
		t_settle();
		t_put(q[1], 'q');
	}
	return arg;
}

static void waits(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd fd = { .fd = q[0], .events = POLLIN };
	pthread_t th = t_thread(writes, NULL);
	int ep = epoll_create1(0);
	fd_set r;

	CHECK(t_get(q[0]) == 'q');
	CHECK(poll(&fd, 1, -1) == 1);
	CHECK(t_get(q[0]) == 'q');
	FD_ZERO(&r);
	FD_SET(q[0], &r);
	CHECK(select(q[0] + 1, &r, NULL, NULL, NULL) == 1);
	CHECK(t_get(q[0]) == 'q');
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, q[0], &ev) == 0);
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	CHECK(t_get(q[0]) == 'q');
	CHECK(t_get(q[0]) == 'q');
	CHECK(t_join(th) == NULL);
	t_close(ep);
}

static void *leaves(void *arg)
{
	if (by_unshare) {
		CHECK(unshare(CLONE_FILES) == 0);
		t_close(p[0]);
		t_close(p[1]);
	} else {
		CHECK(close_range(3, ~0u, CLOSE_RANGE_UNSHARE) == 0);
	}
	CHECK_ERR(fcntl(p[0], F_GETFD), EBADF);
	t_pair(q);
	CHECK(q[0] == p[0] && q[1] == p[1]);
	waits();
	t_close(q[0]);
	t_close(q[1]);
	CHECK_ERR(read(p[0], &(char){ 0 }, 1), EBADF);
	return arg;
}

static void *reads(void *arg)
{
	for (int i = 0; i < 3; i++)
		CHECK(t_get(p[0]) == (char)('a' + i));
	return arg;
}

/* By main, beside whom there is no other thread any more, or not yet. */
static void alone(void)
{
	t_pipe(p);
	t_put(p[1], 'a');
	CHECK(t_get(p[0]) == 'a');
	leaves(NULL);
}

int main(int argc, char **argv)
{
	pthread_t reader, leaver;

	if (argc > 1 && argv[1][0] == 'a') {
		alone();
		t_be_threaded();
		alone();
		t_say("nobody else");
		return 0;
	}
	by_unshare = argc > 1 && argv[1][0] == 'u';
	t_pipe(p);
	reader = t_thread(reads, NULL);
	t_put(p[1], 'a');
	leaver = t_thread(leaves, NULL);
	t_put(p[1], 'b');
	t_join(leaver);
	t_put(p[1], 'c');
	t_join(reader);
	t_close(p[0]);
	t_close(p[1]);
	t_say("each has its own");
	return 0;
}
