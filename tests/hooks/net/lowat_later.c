/*
 * SO_RCVLOWAT of a TCP connection is set while a receive waits there. For fewer bytes
 * nobody is woken; but whatever ends the wait, it takes what is there. (Both ends
 * are the process's own, and have been used for a while: who writes may know who waits.)
 *
 * t-chaos-but no_watch: who waits by poll, which goes by what others have left
 */
#include "../calls.h"
#include <netinet/tcp.h>

enum { ROOM = 50, TURNS = 300 };

static char got[ROOM];

static long receive(void *arg)
{
	return recv(*(int *)arg, got, ROOM, 0);
}

static long receive_one(void *arg)
{
	char b;

	return recv(*(int *)arg, &b, 1, 0);
}

static long receive_all(void *arg)
{
	char b[2];

	return recv(*(int *)arg, b, sizeof(b), MSG_WAITALL);
}

static void talk(const int s[2])
{
	int yes = 1;

	for (int i = 0; i < 2; i++)
		CHECK(setsockopt(s[i], SOL_TCP, TCP_NODELAY, &yes,
				 sizeof(yes)) == 0);
	for (int i = 0; i < TURNS; i++) {
		t_write(s[1], "k", 1);
		CHECK(recv(s[0], got, ROOM, 0) == 1);
		t_write(s[0], "k", 1);
		CHECK(recv(s[1], got, ROOM, 0) == 1);
	}
}

static void set_lowat(int fd, int n)
{
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n)) == 0);
}

static void begin(struct t_call *c, int s[2])
{
	set_lowat(s[0], 1);
	t_begin(c, receive, &s[0]);
	set_lowat(s[0], 10);
	t_write(s[1], "abcde", 5);
	t_waits(c);
}

static void nothing(int sig)
{
	(void)sig;
}

/* With 1 it is as if none were set: who waits goes past the mark, which is none for it. */
static void urgent(void)
{
	struct t_call c;
	int s[2];

	t_tcp_pair(s);
	set_lowat(s[0], 1);
	t_begin(&c, receive, &s[0]);
	CHECK(send(s[1], "!", 1, MSG_OOB) == 1);
	t_waits(&c);
	T_RESULT("at the mark", sockatmark(s[0]));
	t_write(s[1], "abc", 3);
	t_ended("what follows it", &c);
}

/* Enough comes: all who wait for fewer have theirs, though it is not enough behind the first. */
static void several(void)
{
	enum { READERS = 4 };
	struct t_call c[READERS];
	int s[2];

	t_tcp_pair(s);
	set_lowat(s[0], 10);
	for (int i = 0; i < READERS; i++)
		t_begin(&c[i], receive_one, &s[0]);
	t_write(s[1], "abcdefghij", 10);
	for (int i = 0; i < READERS; i++)
		t_ended("one byte", &c[i]);
	T_RESULT("the rest", recv(s[0], got, ROOM, MSG_DONTWAIT));
}

/* So it is where one of them waits for all of its bytes. */
static void beside_all(void)
{
	struct t_call c[3];
	int s[2];

	t_tcp_pair(s);
	set_lowat(s[0], 10);
	t_begin(&c[0], receive_one, &s[0]);
	t_begin(&c[1], receive_all, &s[0]);
	t_begin(&c[2], receive_one, &s[0]);
	t_write(s[1], "abcdefghi", 9);
	t_waits(&c[0]);
	t_write(s[1], "j", 1);
	CHECK(t_end(&c[1]) == 2 && t_end(&c[0]) == 1 && t_end(&c[2]) == 1);
	CHECK(recv(s[0], got, ROOM, MSG_DONTWAIT) == 6);
	t_close(s[0]);
	t_close(s[1]);
}

static void *run(void *arg)
{
	struct timeval limit = { 1, 0 };
	struct t_call c;
	int s[2];

	t_tcp_pair(s);
	talk(s);
	begin(&c, s);
	t_write(s[1], "fghijk", 6);
	t_ended("enough", &c);
	begin(&c, s);
	set_lowat(s[0], 4);
	t_ended("fewer suffice", &c);
	t_handle(SIGUSR1, nothing, 0);
	begin(&c, s);
	pthread_kill(c.th, SIGUSR1);
	t_ended("a handler", &c);
	CHECK(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			 sizeof(limit)) == 0);
	t_begin(&c, receive, &s[0]);
	set_lowat(s[0], 10);
	t_write(s[1], "abcde", 5);
	t_ended("a limit", &c);
	urgent();
	several();
	for (int i = 0; i < 10; i++)
		beside_all();
	return arg;
}

int main(void)
{
	t_join(t_thread(run, NULL));
	return 0;
}
