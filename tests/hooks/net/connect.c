/*
 * connect: refused, into a backlog nobody accepts from, nonblocking, twice,
 * wrong addresses; from many threads.
 */
#include "t.h"

static int port, closed_port;

static void *refused(void *arg)
{
	struct sockaddr_in a = t_addr(closed_port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_ERR(connect(fd, (struct sockaddr *)&a, sizeof(a)), ECONNREFUSED);
	CHECK(fcntl(fd, F_GETFL) == O_RDWR);
	t_close(fd);
	return arg;
}

static void *backlog(void *arg)
{
	int fd = t_connect(port);
	struct sockaddr_in a = t_addr(port), me;
	socklen_t len = sizeof(me);

	CHECK(fcntl(fd, F_GETFL) == O_RDWR);
	CHECK(getpeername(fd, (struct sockaddr *)&me, &len) == 0);
	CHECK(me.sin_port == htons((uint16_t)port));
	CHECK_ERR(connect(fd, (struct sockaddr *)&a, sizeof(a)), EISCONN);
	t_close(fd);
	return arg;
}

static void *nonblocking(void *arg)
{
	struct sockaddr_in a = t_addr(port);
	struct pollfd pf;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), err, r;
	socklen_t len = sizeof(err);

	CHECK(fd >= 0);
	r = connect(fd, (struct sockaddr *)&a, sizeof(a));
	CHECK(r == -1);
	CHECK(errno == EINPROGRESS);
	pf = (struct pollfd){ fd, POLLOUT, 0 };
	CHECK(poll(&pf, 1, 10000) == 1);
	CHECK(pf.revents == POLLOUT);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	CHECK(err == 0);
	CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
	t_close(fd);

	a = t_addr(closed_port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(fd >= 0);
	CHECK_ERR(connect(fd, (struct sockaddr *)&a, sizeof(a)), EINPROGRESS);
	pf = (struct pollfd){ fd, POLLOUT, 0 };
	CHECK(poll(&pf, 1, 10000) == 1);
	CHECK(pf.revents == (POLLOUT | POLLERR | POLLHUP));
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	CHECK(err == ECONNREFUSED);
	t_close(fd);
	return arg;
}

static void *wrong(void *arg)
{
	struct sockaddr_in a = t_addr(port);
	struct sockaddr_un u = { .sun_family = AF_UNIX };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_ERR(connect(fd, (struct sockaddr *)&a, 4), EINVAL);
	a.sin_family = 99;
	CHECK_ERR(connect(fd, (struct sockaddr *)&a, sizeof(a)), EAFNOSUPPORT);
	t_close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	strcpy(u.sun_path, "/nonexistent/socket");
	CHECK_ERR(connect(fd, (struct sockaddr *)&u, sizeof(u)), ENOENT);
	strcpy(u.sun_path, "/");
	CHECK_ERR(connect(fd, (struct sockaddr *)&u, sizeof(u)), ECONNREFUSED);
	t_close(fd);
	return arg;
}

static void all(const char *what, void *(*fn)(void *))
{
	pthread_t th[10];

	fn(NULL);
	for (int i = 0; i < 10; i++)
		th[i] = t_thread(fn, NULL);
	fn(NULL);
	for (int i = 0; i < 10; i++)
		t_join(th[i]);
	t_say("%s", what);
}

int main(void)
{
	int l = t_listen(&port), c = t_bound(SOCK_STREAM, &closed_port);

	all("refused", refused);
	all("backlog", backlog);
	all("nonblocking", nonblocking);
	all("wrong addresses", wrong);
	t_close(l);
	t_close(c);
	return 0;
}
