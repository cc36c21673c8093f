/*
 * A time limit below 0: no call waits. A connection has it of its listener if that is
 * TCP's, and had it when the connection came.
 */
#include "../calls.h"

static const struct timeval never = { -1, 0 };

static char b[8];

static long receives(void *arg)
{
	return recv(*(int *)arg, b, sizeof(b), 0);
}

static void be_impatient(int fd, int what)
{
	CHECK(!setsockopt(fd, SOL_SOCKET, what, &never, sizeof(never)));
}

static int accepted(int l)
{
	int fd = accept(l, NULL, NULL);

	CHECK(fd >= 0);
	return fd;
}

static int unix_listener(struct sockaddr_un *a, socklen_t *len)
{
	int l = socket(AF_UNIX, SOCK_STREAM, 0);

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)sprintf(a->sun_path + 1, "t-%d", getpid()));
	CHECK(l >= 0 && !bind(l, (struct sockaddr *)a, *len) && !listen(l, 5));
	return l;
}

static void waits(const char *what, int fd, int other)
{
	struct t_call c;

	t_begin(&c, receives, &fd);
	t_waits(&c);
	t_write(other, "abc", 3);
	t_ended(what, &c);
	t_close(fd);
	t_close(other);
}

/* A connection, or data. */
static void until_there(int l)
{
	struct pollfd p = { .fd = l, .events = POLLIN };

	CHECK(poll(&p, 1, -1) == 1);
}

int main(void)
{
	int port, l = t_listen(&port), s, fd;
	struct sockaddr_in to = t_addr(port);
	struct sockaddr_un a;
	struct t_call c;
	socklen_t len;

	t_be_threaded();
	s = t_connect(port);
	until_there(l);
	be_impatient(l, SO_RCVTIMEO);
	waits("it was there", accepted(l), s);

	s = t_connect(port);
	until_there(l);
	fd = accepted(l);
	t_begin(&c, receives, &fd);
	t_ended("it came later", &c);
	t_write(s, "abc", 3);
	until_there(fd);
	t_begin(&c, receives, &fd);
	t_ended("with data", &c);
	t_close(fd);
	t_close(s);

	fd = unix_listener(&a, &len);
	be_impatient(fd, SO_RCVTIMEO);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(!connect(s, (struct sockaddr *)&a, len));
	waits("unix", accepted(fd), s);

	s = socket(AF_INET, SOCK_STREAM, 0);
	be_impatient(s, SO_SNDTIMEO);
	T_RESULT("connect", connect(s, (struct sockaddr *)&to, sizeof(to)));
	until_there(l);
	T_RESULT("again", connect(s, (struct sockaddr *)&to, sizeof(to)));
	return 0;
}
