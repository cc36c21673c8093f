/*
 * SO_PEEK_OFF: a peek goes on where the last one ended, and waits for what is not
 * there yet, although poll says that there is something to read.
 *
 * t-chaos-but idle_kick: where a peek began
 */
#include "../calls.h"

static long peek(void *fd)
{
	char b[8];

	return recv(*(int *)fd, b, sizeof(b), MSG_PEEK);
}

static long receive(void *fd)
{
	char b[2];

	return recv(*(int *)fd, b, sizeof(b), 0);
}

static void offset(int fd)
{
	int at = -7;
	socklen_t len = sizeof(at);

	CHECK(getsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &at, &len) == 0);
	t_say("at %d", at);
}

static void run(const char *what, int sv[2])
{
	struct pollfd p = { sv[0], POLLIN, 0 };
	struct t_call c, other;
	int at = 0;

	t_say("%s", what);
	if (setsockopt(sv[0], SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at))) {
		t_say("not in this kernel");
		return;
	}
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	t_write(sv[1], "abc", 3);
	t_ended("peek", &c);
	offset(sv[0]);
	CHECK(poll(&p, 1, 10000) == 1);
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	t_write(sv[1], "defgh", 5);
	t_ended("the next", &c);
	offset(sv[0]);
	t_begin(&c, peek, &sv[0]);
	T_RESULT("a read in between", receive(&sv[0]));
	offset(sv[0]);
	t_waits(&c);
	t_write(sv[1], "ijkl", 4);
	t_ended("the one that waits", &c);
	/* Who reads finds what is there, beside who peeks and waits. */
	at = 1000;
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at)) == 0);
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	t_begin(&other, receive, &sv[0]);
	t_ended("a read", &other);
	t_waits(&c);
	CHECK(shutdown(sv[1], SHUT_WR) == 0);
	t_ended("the end", &c);
	at = -1;
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at)) == 0);
	T_RESULT("a plain peek", peek(&sv[0]));
	t_close(sv[0]);
	t_close(sv[1]);
}

/* Datagrams: an offset beyond all of them waits. */
static void datagrams(void)
{
	struct t_call c;
	int sv[2], at = 0;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == 0);
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at)) == 0);
	t_say("datagrams");
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	t_write(sv[1], "abc", 3);
	t_ended("peek", &c);
	offset(sv[0]);
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	t_write(sv[1], "de", 2);
	t_ended("the next", &c);
	T_RESULT("a read", receive(&sv[0]));
	offset(sv[0]);
	t_begin(&c, peek, &sv[0]);
	t_waits(&c);
	CHECK(shutdown(sv[0], SHUT_RD) == 0);
	t_ended("shut", &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	int sv[2];

	t_pair(sv);
	run("unix", sv);
	t_tcp_pair(sv);
	run("tcp", sv);
	datagrams();
	return 0;
}
