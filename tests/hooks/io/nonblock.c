/* The program's own O_NONBLOCK and MSG_DONTWAIT are respected. */
#include "t.h"
#include <sys/ioctl.h>

static void *check(void *arg)
{
	char buf[4096];
	int p[2], port, l;
	ssize_t n;
	size_t total = 0;

	(void)arg;
	CHECK(pipe2(p, O_NONBLOCK) == 0);
	CHECK_ERR(read(p[0], buf, 1), EAGAIN);
	memset(buf, 'x', sizeof(buf));
	while ((n = write(p[1], buf, sizeof(buf))) > 0)
		total += (size_t)n;
	CHECK(n == -1);
	CHECK(errno == EAGAIN);
	CHECK(total == 65536);
	CHECK(read(p[0], buf, sizeof(buf)) == sizeof(buf));
	CHECK(write(p[1], buf, sizeof(buf)) == sizeof(buf));
	t_close(p[0]);
	t_close(p[1]);

	t_pair(p);
	CHECK_ERR(recv(p[0], buf, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(read(p[0], buf, 1), EAGAIN);
	CHECK_ERR(recv(p[0], buf, 1, 0), EAGAIN);
	while ((n = write(p[0], buf, sizeof(buf))) > 0)
		total += (size_t)n;
	CHECK(n == -1);
	CHECK(errno == EAGAIN);
	CHECK(fcntl(p[0], F_GETFL) == (O_RDWR | O_NONBLOCK));
	CHECK(fcntl(p[1], F_GETFL) == O_RDWR);
	t_close(p[0]);
	t_close(p[1]);

	l = t_listen(&port);
	CHECK(fcntl(l, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(accept(l, NULL, NULL), EAGAIN);
	p[0] = t_connect(port);
	p[1] = accept(l, NULL, NULL);
	CHECK(p[1] >= 0);
	CHECK(fcntl(p[1], F_GETFL) == O_RDWR);
	int one = 1;
	CHECK(ioctl(p[1], FIONBIO, &one) == 0);
	CHECK_ERR(read(p[1], buf, 1), EAGAIN);
	one = 0;
	CHECK(ioctl(p[1], FIONBIO, &one) == 0);
	t_put(p[0], 'q');
	CHECK(t_get(p[1]) == 'q');
	t_close(p[0]);
	t_close(p[1]);
	t_close(l);
	return NULL;
}

int main(void)
{
	pthread_t th[8];

	check(NULL);
	t_say("main");
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(check, NULL);
	for (int i = 0; i < 8; i++)
		t_join(th[i]);
	t_say("threads");
	return 0;
}
