/*
 * A send on a unix socket waits for room, and another process shuts the way: the other
 * end for reading, or its own number of this end for writing. Poll tells nobody. The
 * send ends with EPIPE, or with the part that was sent; both stay open.
 * t-case: stream other
 * t-case: stream own
 * t-case: packets other
 * t-case: packets own
 * t-case: part other
 * t-case: part own
 */
#include "t.h"
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define LARGE (1 << 20)

static int sv[2], gate[2];
static char big[LARGE];

static void fill(size_t n)
{
	while (send(sv[0], big, n, MSG_DONTWAIT) > 0)
		;
	CHECK(errno == EAGAIN);
}

static void *sends_packet(void *arg)
{
	CHECK(send(sv[0], big, 1000, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	t_say("EPIPE");
	return arg;
}

static void *sends_part(void *arg)
{
	ssize_t n = send(sv[0], big, LARGE, MSG_NOSIGNAL);

	CHECK(n > 0 && n < LARGE);
	CHECK(send(sv[0], big, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	t_say("a part, then EPIPE");
	return arg;
}

/* As the receiver sees it: what TIOCOUTQ counts may not have been sent yet, and be refused. */
static void until_some_is_sent(void)
{
	int n = 0;

	while (n == 0) {
		sched_yield();
		CHECK_0(ioctl(sv[1], FIONREAD, &n));
	}
}

int main(int argc, char **argv)
{
	bool part = argc > 1 && argv[1][1] == 'a' && argv[1][2] == 'r',
	     packets = argc > 1 && argv[1][2] == 'c';
	pthread_t th;
	pid_t pid;

	CHECK(argc == 3);
	CHECK(socketpair(AF_UNIX, packets ? SOCK_SEQPACKET : SOCK_STREAM, 0,
			 sv) == 0);
	t_pipe(gate);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(t_get(gate[0]) == 'x');
		CHECK((argv[2][1] == 't' ? shutdown(sv[1], SHUT_RD) :
					   shutdown(sv[0], SHUT_WR)) == 0);
		CHECK(t_get(gate[0]) == 'y');
		_exit(0);
	}
	if (!part)
		fill(packets ? 1000 : LARGE);
	th = t_thread(part ? sends_part : sends_packet, NULL);
	if (part)
		until_some_is_sent();
	t_settle();
	t_put(gate[1], 'x');
	t_join(th);
	t_put(gate[1], 'y');
	t_wait_ok(pid);
	return 0;
}
