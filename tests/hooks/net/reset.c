/* A reset connection: ECONNRESET to blocked readers, EPIPE to later writes. */
#include "t.h"

enum { N = 16 };

static void *reader(void *arg)
{
	char c;

	CHECK_ERR(read(*(int *)arg, &c, 1), ECONNRESET);
	CHECK(read(*(int *)arg, &c, 1) == 0);
	CHECK_ERR(send(*(int *)arg, &c, 1, MSG_NOSIGNAL), EPIPE);
	return NULL;
}

static void *writer(void *arg)
{
	static char b[1 << 20];
	ssize_t n;

	do
		n = send(*(int *)arg, b, sizeof(b), MSG_NOSIGNAL);
	while (n > 0);
	CHECK(n == -1);
	CHECK(errno == ECONNRESET);
	return NULL;
}

static void *poller(void *arg)
{
	struct pollfd pf = { *(int *)arg, POLLIN, 0 };

	CHECK(poll(&pf, 1, 20000) == 1);
	CHECK(pf.revents == (POLLIN | POLLERR | POLLHUP));
	return NULL;
}

static void all(const char *what, void *(*fn)(void *))
{
	static int sv[N][2];
	struct linger now = { 1, 0 };
	pthread_t th[N];

	for (int i = 0; i < N; i++) {
		t_tcp_pair(sv[i]);
		th[i] = t_thread(fn, &sv[i][0]);
	}
	t_settle();
	for (int i = 0; i < N; i++) {
		CHECK(setsockopt(sv[i][1], SOL_SOCKET, SO_LINGER, &now,
				 sizeof(now)) == 0);
		t_close(sv[i][1]);
	}
	for (int i = 0; i < N; i++) {
		t_join(th[i]);
		t_close(sv[i][0]);
	}
	t_say("%s", what);
}

int main(void)
{
	all("readers", reader);
	all("writers", writer);
	all("pollers", poller);
	return 0;
}
