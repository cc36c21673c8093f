/* accept4's flags, addresses of short length, a connection gone meanwhile. */
#include "t.h"

static int port, l;

static void *connect_some(void *arg)
{
	for (int i = 0; i < 5; i++) {
		int fd = t_connect(port);

		if (arg)
			t_put(fd, 'x');
		t_close(fd);
	}
	return NULL;
}

int main(void)
{
	struct sockaddr_storage ss;
	socklen_t len;
	pthread_t th;
	int fd;

	l = t_listen(&port);
	th = t_thread(connect_some, &l);
	fd = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	t_close(fd);
	fd = accept4(l, NULL, NULL, 0);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) == O_RDWR);
	CHECK(fcntl(fd, F_GETFD) == 0);
	t_close(fd);
	len = 3;
	fd = accept(l, (struct sockaddr *)&ss, &len);
	CHECK(fd >= 0);
	CHECK(len == sizeof(struct sockaddr_in));
	t_close(fd);
	len = sizeof(ss);
	fd = accept(l, (struct sockaddr *)&ss, &len);
	CHECK(fd >= 0);
	CHECK(len == sizeof(struct sockaddr_in));
	CHECK(ss.ss_family == AF_INET);
	t_close(fd);
	fd = accept(l, NULL, NULL);
	CHECK(fd >= 0);
	CHECK(t_get(fd) == 'x');
	t_eof(fd);
	t_close(fd);
	t_join(th);
	t_join(t_thread(connect_some, NULL));
	for (int i = 0; i < 5; i++) {
		fd = accept(l, NULL, NULL);
		CHECK(fd >= 0);
		t_eof(fd);
		t_close(fd);
	}
	t_say("all accepted");
	return 0;
}
