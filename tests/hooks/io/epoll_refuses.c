/*
 * An epoll descriptor refuses reads, writes and what is made of them at once, whether
 * anything in it is ready or not, and O_NONBLOCK of it is nothing to epoll_wait().
 *
 * t-case: older
 * t-case: own
 */
#include "t.h"
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static int pair[2], out[2];

static void *refused(void *arg)
{
	int ep = *(int *)arg;
	char b[8] = "";
	struct iovec v = { b, sizeof(b) };
	int null = open("/dev/null", O_WRONLY);

	CHECK(null >= 0);
	for (int ready = 0; ready < 2; ready++) {
		CHECK_ERR(read(ep, b, sizeof(b)), EINVAL);
		CHECK_ERR(readv(ep, &v, 1), EINVAL);
		CHECK_ERR(preadv2(ep, &v, 1, -1, RWF_NOWAIT), EINVAL);
		CHECK_ERR(write(ep, b, sizeof(b)), EINVAL);
		CHECK_ERR(writev(ep, &v, 1), EINVAL);
		CHECK_ERR(recv(ep, b, sizeof(b), 0), ENOTSOCK);
		CHECK_ERR(splice(ep, NULL, out[1], NULL, 8, 0), EINVAL);
		CHECK_ERR(splice(out[0], NULL, ep, NULL, 8, 0), EINVAL);
		CHECK_ERR(sendfile(null, ep, NULL, 8), EINVAL);
		CHECK(write(pair[1], "x", 1) == 1);
	}
	close(null);
	return NULL;
}

static void *waits(void *arg)
{
	int ep = *(int *)arg;
	struct epoll_event ev;
	struct pollfd p = { ep, POLLIN, 0 };
	long long began = t_now();
	char b[8];
	fd_set s;

	CHECK(read(pair[0], b, sizeof(b)) == 2);
	CHECK_0(fcntl(ep, F_SETFL, O_NONBLOCK));
	CHECK(epoll_wait(ep, &ev, 1, 30) == 0);
	CHECK(poll(&p, 1, 30) == 0);
	CHECK(t_now() - began >= 60 * T_MS);
	CHECK(write(pair[1], "x", 1) == 1);
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	FD_ZERO(&s);
	FD_SET(ep, &s);
	CHECK(select(ep + 1, &s, NULL, NULL, NULL) == 1);
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	return NULL;
}

static int make(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	CHECK(ep >= 0);
	CHECK_0(epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &ev));
	return ep;
}

int main(int argc, char **argv)
{
	int ep = -1;

	CHECK(argc == 2);
	t_pair(pair);
	CHECK_0(pipe(out));
	if (!strcmp(argv[1], "older"))
		ep = make();
	t_be_threaded();
	if (ep < 0)
		ep = make();
	t_join(t_thread(refused, &ep));
	t_join(t_thread(waits, &ep));
	t_say("as ever");
	return 0;
}
