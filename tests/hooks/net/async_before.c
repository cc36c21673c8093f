/*
 * A socket of which a signal tells (O_ASYNC), since before the first thread: none comes of
 * data that somebody waits for, and one of what nobody does.
 *
 * t-case: unix recv
 * t-case: unix read
 * t-case: unix recvmsg
 * t-case: unix readv
 * t-case: tcp recv
 * t-case: tcp read
 * t-case: udp recv
 */
#include "../calls.h"
#include <sys/ioctl.h>

static sigset_t told;
static const char *how;

static long receives(void *fd)
{
	char b[8];
	struct iovec v = { b, sizeof(b) };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (!strcmp(how, "recv"))
		return recv(*(int *)fd, b, sizeof(b), 0);
	if (!strcmp(how, "recvmsg"))
		return recvmsg(*(int *)fd, &h, 0);
	if (!strcmp(how, "readv"))
		return readv(*(int *)fd, &v, 1);
	return read(*(int *)fd, b, sizeof(b));
}

static void pair_of(const char *kind, int sv[2])
{
	if (!strcmp(kind, "unix"))
		t_pair(sv);
	else if (!strcmp(kind, "tcp"))
		t_tcp_pair(sv);
	else
		t_udp_pair(sv);
}

/* Real-time signals, each of which is queued. */
static void be_told(int fd, int by_ioctl)
{
	int on = 1;

	CHECK(!fcntl(fd, F_SETOWN, getpid()));
	CHECK(!fcntl(fd, F_SETSIG, SIGRTMIN));
	if (by_ioctl)
		CHECK(!ioctl(fd, FIOASYNC, &on));
	else
		CHECK(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
}

/* Which makes waits in the kernel begin anew: in between nobody waits. */
static int chaos(void)
{
	return getenv("FIBHOOK_CHAOS") != NULL;
}

static int came(void)
{
	struct timespec now = { 0, 0 };
	int n = 0;

	while (sigtimedwait(&told, NULL, &now) == SIGRTMIN)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	struct t_call c;
	int sv[2][2], n, was;

	CHECK(argc == 3);
	was = !strcmp(argv[1], "udp");
	how = argv[2];
	sigemptyset(&told);
	sigaddset(&told, SIGRTMIN);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &told, NULL));
	for (int i = 0; i < 2; i++) {
		pair_of(argv[1], sv[i]);
		be_told(sv[i][0], i);
	}
	for (int i = 0; i < 2; i++) {
		came();
		t_begin(&c, receives, &sv[i][0]);
		t_waits(&c);
		CHECK(send(sv[i][1], "x", 1, 0) == 1);
		t_ended("receive", &c);
		n = came();
		t_say("of what it waited for: %d", chaos() ? was : n);
		CHECK(send(sv[i][1], "x", 1, 0) == 1);
		t_say("of what nobody waits for: %d", came());
	}
	return 0;
}
