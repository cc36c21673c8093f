/*
 * Receives that end at once, or earlier than poll tells, by their flags: recvmmsg() with
 * MSG_WAITFORONE and a time limit of a socket that is shut; of no bytes from a stream, with
 * a rare flag; what packet_recvmsg() refuses. And sends that only look for a way;
 * MSG_OOB, of which MPTCP knows nothing.
 *
 * t-case: one
 * t-case: nothing
 * t-case: refused
 * t-case: probe
 * t-case: urgent
 */
#include <linux/if_packet.h>
#include "../calls.h"
#include "mptcp.h"

enum { N = 3 };

struct get {
	int fd, flags, limited;
	size_t room;
};

static long receives_many(void *arg)
{
	struct get *g = arg;
	struct timespec ts = { 60, 0 };
	struct mmsghdr m[N];
	struct iovec v[N];
	char b[N][16];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){ b[i], g->room };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(g->fd, m, N, g->flags, g->limited ? &ts : NULL);
}

static long receives(void *arg)
{
	struct get *g = arg;
	char b[16];

	return recv(g->fd, b, g->room, g->flags);
}

static void *one(void *arg)
{
	static const char *const names[] = { "unix", "packets", "udp" };
	static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET };

	for (int i = 0; i < 6; i++) {
		struct get g = { .limited = i % 2,
				 .flags = MSG_WAITFORONE,
				 .room = 16 };
		struct t_call c;
		int sv[2];

		if (i / 2 < 2)
			CHECK_0(socketpair(AF_UNIX, types[i / 2], 0, sv));
		else
			t_udp_pair(sv);
		g.fd = sv[0];
		t_begin(&c, receives_many, &g);
		t_waits(&c);
		CHECK_0(shutdown(sv[0], SHUT_RD));
		t_ended(names[i / 2], &c);
		T_RESULT("again", receives_many(&g));
		t_close(sv[0]);
		t_close(sv[1]);
	}
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void *nothing(void *arg)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_RESTART };
	struct get g = { .flags = MSG_DONTROUTE };
	struct t_call c;
	int sv[2];

	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	t_tcp_pair(sv);
	g.fd = sv[0];
	t_begin(&c, receives_many, &g);
	t_waits(&c);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("tcp", &c);
	t_close(sv[0]);
	t_close(sv[1]);
	t_mptcp_pair(sv);
	g.fd = sv[0];
	t_begin(&c, receives_many, &g);
	t_ended("mptcp", &c);
	t_close(sv[0]);
	t_close(sv[1]);
	return arg;
}

static void *refused(void *arg)
{
	static const int flags[] = { MSG_WAITALL, MSG_CTRUNC, MSG_CONFIRM,
				     MSG_WAITALL | MSG_TRUNC, MSG_NOSIGNAL };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	struct t_call c;

	if (fd < 0)
		t_skip("no packet sockets");
	for (int i = 0; i < (int)T_LEN(flags); i++) {
		struct get g = { .fd = fd, .flags = flags[i], .room = 16 };

		t_begin(&c, receives, &g);
		t_ended("recv", &c);
		t_begin(&c, receives_many, &g);
		t_ended("recvmmsg", &c);
		g.limited = 1;
		t_begin(&c, receives_many, &g);
		t_ended("recvmmsg with a limit", &c);
	}
	t_close(fd);
	return arg;
}

/* MSG_PROXY is MSG_PROBE to the kernel. */
static void *probe(void *arg)
{
	struct mmsghdr m[N];
	struct iovec v[N];
	int sv[2];
	char b;

	t_udp_pair(sv);
	memset(m, 0, sizeof(m));
	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){ "x", i == N - 1 };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	T_RESULT("two without bytes", sendmmsg(sv[0], m, N, MSG_PROXY));
	v[0].iov_len = 1;
	T_RESULT("a byte", sendmmsg(sv[0], m, N, MSG_PROXY));
	T_RESULT("one", send(sv[0], "x", 1, MSG_PROXY));
	T_RESULT("got", recv(sv[1], &b, 1, MSG_DONTWAIT));
	t_close(sv[0]);
	t_close(sv[1]);
	return arg;
}

/* It waits, and so a stop ends it. */
static void *urgent(void *arg)
{
	struct timeval tv = { 15, 0 };
	struct get g = { .flags = MSG_OOB, .room = 16 };
	struct t_call c;
	int sv[2];
	pid_t pid;

	t_mptcp_pair(sv);
	g.fd = sv[0];
	CHECK_0(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	t_begin(&c, receives, &g);
	t_waits(&c);
	CHECK((pid = fork()) >= 0);
	if (!pid) {
		CHECK_0(kill(getppid(), SIGSTOP));
		while (t_threads_in(getppid(), "RSD"))
			sched_yield();
		CHECK_0(kill(getppid(), SIGCONT));
		_exit(0);
	}
	t_wait_ok(pid);
	t_ended("stopped", &c);
	t_close(sv[0]);
	t_close(sv[1]);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { { "one", one },
					       { "nothing", nothing },
					       { "refused", refused },
					       { "probe", probe },
					       { "urgent", urgent } };

	CHECK(argc == 2);
	t_run_case(cases, T_LEN(cases), argv[1]);
	return 0;
}
