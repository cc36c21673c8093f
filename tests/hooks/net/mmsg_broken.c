/*
 * sendmmsg() whose second message finds the connection broken: one was sent, and SIGPIPE
 * is that thread's, whether the call may wait or not.
 *
 * t-case: waits
 * t-case: dontwait
 * t-case: nonblock
 * t-case: nonblock_dontwait
 * t-case: nosignal
 */
#include "t.h"

static int nonblock;
static int flags, own, others;
static pthread_t sender;

static void on_pipe(int sig)
{
	(void)sig;
	if (pthread_equal(pthread_self(), sender))
		own++;
	else
		others++;
}

static void *send_two(void *arg)
{
	struct mmsghdr mm[2];
	struct iovec v = { "x", 1 };
	int c[2];

	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 2; i++) {
		mm[i].msg_hdr.msg_iov = &v;
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	sender = pthread_self();
	t_tcp_pair(c);
	if (nonblock)
		CHECK_0(fcntl(c[1], F_SETFL, O_RDWR | O_NONBLOCK));
	t_close(c[0]);
	t_say("sent: %d", sendmmsg(c[1], mm, 2, flags));
	t_say("signals: %d", own);
	t_close(c[1]);
	return arg;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	nonblock = strstr(argv[1], "nonblock") != NULL;
	flags = strstr(argv[1], "dontwait") ? MSG_DONTWAIT :
		strstr(argv[1], "nosignal") ? MSG_NOSIGNAL | MSG_DONTWAIT :
					      0;
	t_handle(SIGPIPE, on_pipe, 0);
	t_join(t_thread(send_two, NULL));
	t_say("in other threads: %d", others);
	return 0;
}
