/* poll: events, hang-ups, errors, bad descriptors, zero and real timeouts. */
#include "t.h"
#include <sys/resource.h>

static void *check(void *arg)
{
	int p[2], sv[2], port, l = t_listen(&port), c, f;
	struct pollfd pf[6];
	struct rlimit rl;
	long long t0;

	t_pipe(p);
	t_pair(sv);
	f = open("/dev/null", O_RDWR);
	CHECK(f >= 0);
	CHECK(poll(NULL, 0, 0) == 0);
	pf[0] = (struct pollfd){ p[0], POLLIN, 99 };
	pf[1] = (struct pollfd){ p[1], POLLOUT | POLLIN, 99 };
	pf[2] = (struct pollfd){ -1, POLLIN, 99 };
	pf[3] = (struct pollfd){ 4321, POLLIN, 99 };
	pf[4] = (struct pollfd){ l, POLLIN | POLLOUT, 99 };
	pf[5] = (struct pollfd){ f, POLLIN | POLLOUT, 99 };
	CHECK(poll(pf, 6, 0) == 3);
	CHECK(pf[0].revents == 0);
	CHECK(pf[1].revents == POLLOUT);
	CHECK(pf[2].revents == 0);
	CHECK(pf[3].revents == POLLNVAL);
	CHECK(pf[4].revents == 0);
	CHECK(pf[5].revents == (POLLIN | POLLOUT));
	CHECK(poll(pf + 3, 1, -1) == 1);
	CHECK(pf[3].revents == POLLNVAL);

	t0 = t_now();
	CHECK(poll(pf, 1, 30) == 0);
	T_TOOK(t0, 30 * T_MS);
	CHECK(pf[0].revents == 0);
	t0 = t_now();
	CHECK(poll(NULL, 0, 30) == 0);
	T_TOOK(t0, 30 * T_MS);

	t_put(p[1], 'x');
	CHECK(poll(pf, 1, -1) == 1);
	CHECK(pf[0].revents == POLLIN);
	pf[0].events = 0;
	CHECK(poll(pf, 1, 0) == 0);
	t_close(p[1]);
	CHECK(poll(pf, 1, -1) == 1);
	CHECK(pf[0].revents == POLLHUP);
	pf[0].events = POLLIN;
	CHECK(poll(pf, 1, -1) == 1);
	CHECK(pf[0].revents == (POLLIN | POLLHUP));
	t_close(p[0]);
	t_pipe(p);
	t_close(p[0]);
	pf[0] = (struct pollfd){ p[1], POLLOUT, 0 };
	CHECK(poll(pf, 1, -1) == 1);
	CHECK(pf[0].revents == (POLLOUT | POLLERR));
	t_close(p[1]);

	t_close(sv[1]);
	pf[0] = (struct pollfd){ sv[0], POLLIN | POLLRDHUP, 0 };
	CHECK(poll(pf, 1, 1000) == 1);
	CHECK(pf[0].revents == (POLLIN | POLLHUP | POLLRDHUP));
	c = t_connect(port);
	pf[0] = (struct pollfd){ l, POLLIN, 0 };
	CHECK(poll(pf, 1, 10000) == 1);
	CHECK(pf[0].revents == POLLIN);
	t_close(accept(l, NULL, NULL));
	pf[0] = (struct pollfd){ c, POLLIN, 0 };
	CHECK(poll(pf, 1, 10000) == 1);
	CHECK(pf[0].revents == POLLIN);
	t_close(c);
	pf[0] = (struct pollfd){ socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0 };
	CHECK(poll(pf, 1, 0) == 1);
	CHECK(pf[0].revents == POLLHUP);
	t_close(pf[0].fd);

	struct pollfd *volatile bad = (struct pollfd *)16;
	CHECK_ERR(poll(bad, 1, 0), EFAULT);
	CHECK(getrlimit(RLIMIT_NOFILE, &rl) == 0);
	volatile nfds_t too_many = (nfds_t)rl.rlim_cur + 1;
	CHECK_ERR(poll(pf, too_many, 0), EINVAL);
	t_close(l);
	t_close(f);
	t_close(sv[0]);
	return arg;
}

int main(void)
{
	pthread_t th[6];

	check(NULL);
	t_say("main");
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(check, NULL);
	check(NULL);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	t_say("6 threads");
	return 0;
}
