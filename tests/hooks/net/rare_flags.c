/*
 * Flags that are seldom used, in calls that wait: MSG_MORE, MSG_CONFIRM and
 * MSG_DONTROUTE of a send and of a receive, MSG_WAITALL of no bytes, MSG_CTRUNC,
 * SO_PASSPIDFD, UDP_SEGMENT.
 *
 * t-case: room
 * t-case: corked
 * t-case: receives
 * t-case: nothing
 * t-case: policy
 * t-case: ctrunc
 * t-case: pidfd
 * t-case: segment
 * t-chaos-but idle_kick: a receive that takes control messages, which it ends behind a part
 */
#include "../calls.h"

enum { TCP, STREAM, PACKET, DGRAM, UDP, KINDS };

static const char *const names[] = { "tcp", "stream", "packet", "dgram",
				     "udp" };

static void make(int kind, int sv[2])
{
	static const int types[] = { 0, SOCK_STREAM, SOCK_SEQPACKET,
				     SOCK_DGRAM };

	if (kind == TCP)
		t_tcp_pair(sv);
	else if (kind == UDP)
		t_udp_pair(sv);
	else
		CHECK(socketpair(AF_UNIX, types[kind], 0, sv) == 0);
}

static void unmake(int sv[2])
{
	for (int i = 0; i < 2; i++)
		if (sv[i] >= 0)
			t_close(sv[i]);
}

/* --- a send that waits for room -------------------------------------------- */

struct send {
	int fd, flags, msg;
	size_t len;
};

static unsigned char bytes[400000], got[400000];

static long sends(void *arg)
{
	struct send *s = arg;
	struct iovec v[2] = { { bytes, s->len / 3 },
			      { bytes + s->len / 3, s->len - s->len / 3 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	return s->msg ? sendmsg(s->fd, &m, s->flags) :
			send(s->fd, bytes, s->len, s->flags);
}

static void fill(int fd, size_t len)
{
	for (int none = 0; none < 10; none++) {
		if (send(fd, bytes, len, MSG_DONTWAIT) > 0)
			none = 0;
		else
			t_settle();
	}
}

static void small(int sv[2])
{
	int size = 20000;

	CHECK(!setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	CHECK(!setsockopt(sv[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
}

static size_t unread(int kind, int fd)
{
	size_t n = 0;
	long r;

	while ((r = recv(fd, got, sizeof(got), MSG_DONTWAIT)) > 0) {
		n += (size_t)r;
		if (kind == TCP)
			t_settle();
	}
	CHECK(errno == EAGAIN);
	return n;
}

static void full(int kind, int flags, int msg)
{
	size_t len = kind < PACKET ? sizeof(bytes) : 2000;
	struct send s = { .flags = flags, .msg = msg, .len = len };
	struct t_call c;
	size_t left = 0;
	int sv[2];

	make(kind, sv);
	small(sv);
	if (kind >= PACKET)
		fill(sv[0], len);
	s.fd = sv[0];
	t_begin_one(&c, sends, &s);
	t_waits(&c);
	if (kind < PACKET) {
		for (size_t at = 0; at < len; at += 1000) {
			t_read(sv[1], got, 1000);
			CHECK(!memcmp(got, bytes + at, 1000));
		}
	} else {
		left = unread(kind, sv[1]);
	}
	CHECK(t_end(&c) == (long)len);
	left = kind < PACKET ? 0 : left + unread(kind, sv[1]);
	CHECK(kind < PACKET || left % len == 0);
	t_close(sv[0]);
	sv[0] = -1;
	if (kind != DGRAM)
		CHECK(recv(sv[1], got, 1, 0) == 0);
	unmake(sv);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A part is the result. */
static void cut(int kind, int flags)
{
	struct send s = { .flags = flags, .len = sizeof(bytes) };
	struct t_call c;
	int sv[2];
	long r;

	make(kind, sv);
	small(sv);
	s.fd = sv[0];
	if (kind == STREAM) {
		fill(sv[0], 4000);
		t_begin(&c, sends, &s);
		CHECK_0(pthread_kill(c.th, SIGUSR1));
		t_ended("nothing went", &c);
		unread(kind, sv[1]);
	}
	t_begin_one(&c, sends, &s);
	t_waits(&c);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	r = t_end(&c);
	CHECK(r > 0 && r < (long)s.len);
	t_close(sv[0]);
	sv[0] = -1;
	for (long at = 0; at < r; at++) {
		CHECK(recv(sv[1], got, 1, 0) == 1);
		CHECK(got[0] == bytes[at]);
	}
	CHECK(recv(sv[1], got, 1, 0) == 0);
	unmake(sv);
}

static void *room(void *arg)
{
	static const int flags[] = { MSG_MORE, MSG_CONFIRM, MSG_DONTROUTE,
				     MSG_MORE | MSG_CONFIRM | MSG_DONTROUTE };

	t_handle(SIGUSR1, on_signal, 0);
	t_fill(1, 0, bytes, sizeof(bytes));
	for (int kind = TCP; kind < UDP; kind++) {
		for (size_t i = 0; i < T_LEN(flags); i++)
			full(kind, flags[i], i % 2);
		if (kind < PACKET)
			cut(kind, MSG_MORE);
		t_say("%s", names[kind]);
	}
	return arg;
}

/* --- MSG_MORE: what is held back ------------------------------------------- */

struct get {
	int fd, flags;
	size_t len;
};

static long receives_some(void *arg)
{
	struct get *g = arg;

	return recv(g->fd, got, g->len, g->flags);
}

static void *corked(void *arg)
{
	struct get g = { .len = 100 };
	struct iovec v = { (void *)"de", 2 };
	struct mmsghdr m[2];
	struct t_call c;
	int sv[2];

	/* UDP: one datagram of all, when one comes without it. */
	make(UDP, sv);
	g.fd = sv[1];
	t_begin(&c, receives_some, &g);
	CHECK(send(sv[0], "a", 1, MSG_MORE) == 1);
	CHECK(send(sv[0], "bc", 2, MSG_MORE | MSG_CONFIRM) == 2);
	memset(m, 0, sizeof(m));
	m[0].msg_hdr.msg_iov = m[1].msg_hdr.msg_iov = &v;
	m[0].msg_hdr.msg_iovlen = m[1].msg_hdr.msg_iovlen = 1;
	CHECK(sendmmsg(sv[0], m, 2, MSG_MORE) == 2);
	t_waits(&c);
	CHECK(write(sv[0], "f", 1) == 1);
	t_ended("udp", &c);
	t_say("    %.8s", (char *)got);
	/* What is too large is refused, and all of it is gone. */
	t_begin(&c, receives_some, &g);
	CHECK(send(sv[0], "a", 1, MSG_MORE) == 1);
	T_RESULT("too large", send(sv[0], bytes, 66000, MSG_MORE));
	CHECK(send(sv[0], "b", 1, 0) == 1);
	t_ended("the next one", &c);
	t_say("    %c", got[0]);
	unmake(sv);
	/* Streams: by the next one, the end. */
	for (int kind = TCP; kind <= STREAM; kind++) {
		make(kind, sv);
		g = (struct get){ sv[1], MSG_WAITALL, 3 };
		t_begin(&c, receives_some, &g);
		CHECK(send(sv[0], "a", 1, MSG_MORE) == 1);
		CHECK(send(sv[0], "b", 1, MSG_MORE) == 1);
		t_waits(&c);
		CHECK(send(sv[0], "c", 1, 0) == 1);
		t_ended(names[kind], &c);
		g.flags = 0;
		t_begin(&c, receives_some, &g);
		CHECK(send(sv[0], "d", 1, MSG_MORE) == 1);
		CHECK(shutdown(sv[0], SHUT_WR) == 0);
		t_ended("the end", &c);
		CHECK(got[0] == 'd');
		T_RESULT("after it", recv(sv[1], got, 1, 0));
		unmake(sv);
	}
	return arg;
}

/* --- the same flags in a receive -------------------------------------------- */

static void *receives(void *arg)
{
	static const int flags[] = { MSG_MORE,	    MSG_CONFIRM,
				     MSG_DONTROUTE, MSG_CTRUNC,
				     MSG_EOR,	    MSG_CTRUNC | MSG_WAITALL };
	struct t_call c;
	int sv[2];

	for (int kind = 0; kind < KINDS; kind++) {
		t_say("%s", names[kind]);
		make(kind, sv);
		for (size_t i = 0; i < T_LEN(flags); i++) {
			struct get g = { sv[1], flags[i], 2 };

			t_begin(&c, receives_some, &g);
			CHECK(send(sv[0], "ab", 2, 0) == 2);
			t_ended("    ", &c);
			T_RESULT("    then", recv(sv[1], got, 2, MSG_DONTWAIT));
		}
		unmake(sv);
	}
	return arg;
}

/* --- no bytes --------------------------------------------------------------- */

static void none(int kind, int flags)
{
	struct get g = { .flags = flags };
	struct timeval soon = { 0, 50000 };
	struct t_call c;
	int sv[2];

	make(kind, sv);
	g.fd = sv[1];
	t_say("%s, %#x", names[kind], flags);
	t_begin_one(&c, receives_some, &g);
	t_waits(&c);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("    a signal", &c);
	t_begin_one(&c, receives_some, &g);
	t_waits(&c);
	CHECK(send(sv[0], "ab", 2, 0) == 2);
	t_ended("    two bytes", &c);
	T_RESULT("    again", kind < PACKET ? receives_some(&g) : 0);
	T_RESULT("    left", recv(sv[1], got, 4, MSG_DONTWAIT));
	CHECK(!setsockopt(sv[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	T_RESULT("    a limit", receives_some(&g));
	soon.tv_usec = 0;
	CHECK(!setsockopt(sv[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	if (kind < DGRAM) {
		t_begin_one(&c, receives_some, &g);
		t_waits(&c);
		t_close(sv[0]);
		sv[0] = -1;
		t_ended("    the end", &c);
	}
	unmake(sv);
}

static void *nothing(void *arg)
{
	static const int flags[] = { 0, MSG_WAITALL, MSG_WAITALL | MSG_PEEK,
				     MSG_WAITALL | MSG_TRUNC };

	t_handle(SIGUSR1, on_signal, 0);
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < T_LEN(flags); i++)
			none(kind, flags[i]);
	return arg;
}

static long takes_nothing(void *arg)
{
	struct msghdr m = { .msg_flags = ((struct get *)arg)->flags };

	return recvmsg(((struct get *)arg)->fd, &m, m.msg_flags);
}

/* That another thread gives the one that waits a policy wakes it for nothing. */
static void *policy(void *arg)
{
	static const int flags[] = { 0, MSG_WAITALL, MSG_WAITALL | MSG_PEEK };
	struct sched_param none = { 0 };

	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t i = 0; i < 2 * T_LEN(flags); i++) {
			struct get g = { .flags = flags[i / 2] };
			struct t_call c;
			int sv[2];

			make(kind, sv);
			g.fd = sv[1];
			t_begin(&c, i % 2 ? takes_nothing : receives_some, &g);
			for (int to = 0; to < 2; to++) {
				t_waits(&c);
				CHECK_0(pthread_setschedparam(
					c.th, to ? SCHED_IDLE : SCHED_BATCH,
					&none));
			}
			t_waits(&c);
			CHECK(send(sv[0], "ab", 2, 0) == 2);
			t_ended(names[kind], &c);
			unmake(sv);
		}
	}
	return arg;
}

/* --- control messages that have no room -------------------------------------- */

struct take {
	int fd, flags;
	size_t len, room;
};

static void show(const struct msghdr *m)
{
	int fds = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h;
	     h = CMSG_NXTHDR((struct msghdr *)m, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		t_say("    %d %d: %zu words", h->cmsg_level, h->cmsg_type, n);
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			t_close(fd);
			fds++;
		}
	}
	t_say("    flags %#x, %zu of control, %d descriptors",
	      m->msg_flags & ~MSG_CMSG_CLOEXEC, m->msg_controllen, fds);
}

static long takes(void *arg)
{
	static union {
		struct cmsghdr h;
		char b[256];
	} u;
	struct take *t = arg;
	struct iovec v = { got, t->len };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = t->room ? u.b : NULL,
			    .msg_controllen = t->room };
	long r = recvmsg(t->fd, &m, t->flags);

	if (r >= 0)
		show(&m);
	return r;
}

static void pass(int fd, const char *text, int fds)
{
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(4 * sizeof(int))];
	} u;
	struct iovec v = { (char *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.b,
			    .msg_controllen =
				    CMSG_SPACE((size_t)fds * sizeof(int)) };

	memset(&u, 0, sizeof(u));
	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN((size_t)fds * sizeof(int));
	for (int i = 0; i < fds; i++)
		memcpy(CMSG_DATA(&u.h) + (size_t)i * sizeof(int), &(int){ 0 },
		       sizeof(int));
	CHECK(sendmsg(fd, &m, 0) == (long)v.iov_len);
}

static void *ctrunc(void *arg)
{
	static const size_t rooms[] = {
		0, CMSG_LEN(0), CMSG_SPACE(4), CMSG_LEN(4), CMSG_SPACE(12), 100
	};
	struct t_call c;
	int sv[2], on = 1;

	for (int kind = STREAM; kind <= DGRAM; kind++) {
		make(kind, sv);
		for (size_t i = 0; i < T_LEN(rooms); i++)
			for (int all = 0; all < 2; all++) {
				struct take t = { sv[1], all ? MSG_WAITALL : 0,
						  4, rooms[i] };

				t_begin_one(&c, takes, &t);
				t_waits(&c);
				pass(sv[0], "ab", 3);
				if (all && kind == STREAM)
					CHECK(send(sv[0], "cd", 2, 0) == 2);
				t_ended(names[kind], &c);
				recv(sv[1], got, 4, MSG_DONTWAIT);
			}
		unmake(sv);
	}
	make(UDP, sv);
	CHECK(!setsockopt(sv[1], IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)));
	CHECK(!setsockopt(sv[1], IPPROTO_IP, IP_RECVTTL, &on, sizeof(on)));
	for (size_t i = 0; i < T_LEN(rooms); i++) {
		struct take t = { sv[1], 0, 4, rooms[i] };

		t_begin_one(&c, takes, &t);
		t_waits(&c);
		CHECK(send(sv[0], "ab", 2, 0) == 2);
		t_ended("udp", &c);
	}
	unmake(sv);
	return arg;
}

/* --- who has sent it --------------------------------------------------------- */

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif
#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

static pid_t child;

static const char *who(int pidfd)
{
	char path[64], line[128];
	int pid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Pid: %d", &pid);
	fclose(f);
	return pid == child ? "the child" : pid == getpid() ? "itself" : "?";
}

static long takes_pidfd(void *arg)
{
	union {
		struct cmsghdr h;
		char b[64];
	} u;
	struct take *t = arg;
	struct iovec v = { got, t->len };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.b,
			    .msg_controllen = t->room };
	long r = recvmsg(t->fd, &m, t->flags);
	struct cmsghdr *h;

	if (r < 0)
		return r;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_PIDFD) {
		int fd;

		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
		t_say("    %s, close on exec %d", who(fd), fcntl(fd, F_GETFD));
		t_close(fd);
	}
	t_say("    flags %#x, %zu of control", m.msg_flags, m.msg_controllen);
	return r;
}

static void *pidfd(void *arg)
{
	int sv[2], ask[2], on = 1;
	struct t_call c;
	char byte;

	for (int kind = STREAM; kind <= DGRAM; kind++) {
		struct take t = { .len = 4, .room = 64 };

		make(kind, sv);
		if (setsockopt(sv[1], SOL_SOCKET, SO_PASSPIDFD, &on,
			       sizeof(on)))
			t_skip("no SO_PASSPIDFD");
		t_pipe(ask);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			t_close(ask[1]);
			while (read(ask[0], &byte, 1) == 1)
				CHECK(send(sv[0], "ab", 2, 0) == 2);
			_exit(0);
		}
		t.fd = sv[1];
		t_say("%s", names[kind]);
		for (int all = 0; all < 2; all++) {
			t.flags = all ? MSG_WAITALL : 0;
			t.len = 4;
			t_begin_one(&c, takes_pidfd, &t);
			t_waits(&c);
			t_put(ask[1], 'x');
			if (all && kind == STREAM) {
				t_waits(&c);
				CHECK(send(sv[0], "cd", 2, 0) == 2);
			}
			t_ended("another process", &c);
			t.len = 2;
			if (all && kind == STREAM)
				T_RESULT("then", takes_pidfd(&t));
		}
		t.flags = 0;
		t_begin(&c, takes_pidfd, &t);
		CHECK(send(sv[0], "ab", 2, 0) == 2);
		t_ended("this one", &c);
		t.room = CMSG_LEN(0);
		t_begin(&c, takes_pidfd, &t);
		t_put(ask[1], 'x');
		t_ended("no room", &c);
		t_close(ask[1]);
		t_wait_ok(child);
		t_close(ask[0]);
		unmake(sv);
	}
	return arg;
}

/* --- UDP_SEGMENT --------------------------------------------------------------- */

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO	    104
#endif

static long receives_each(void *arg)
{
	static char b[8][2000];
	struct iovec v[8];
	struct mmsghdr m[8];
	int n;

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 8; i++) {
		v[i] = (struct iovec){ b[i], sizeof(b[i]) };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(*(int *)arg, m, 4, 0, NULL);
	for (int i = 0; i < n; i++) {
		t_say("    %u", m[i].msg_len);
		CHECK(!memcmp(b[i], bytes + i * 500, m[i].msg_len));
	}
	return n;
}

/* The size in a control message. */
static long segments(int fd, uint16_t size, size_t len)
{
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(uint16_t))];
	} u;
	struct iovec v = { bytes, len };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.b,
			    .msg_controllen = sizeof(u.b) };

	memset(&u, 0, sizeof(u));
	u.h.cmsg_level = IPPROTO_UDP;
	u.h.cmsg_type = UDP_SEGMENT;
	u.h.cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(&u.h), &size, sizeof(size));
	return sendmsg(fd, &m, 0);
}

static void *segment(void *arg)
{
	int sv[2], size = 500, on = 1;
	struct get g = { .len = sizeof(got) };
	struct t_call c;

	t_fill(1, 0, bytes, sizeof(bytes));
	make(UDP, sv);
	t_begin_one(&c, receives_each, &sv[1]);
	t_waits(&c);
	CHECK(segments(sv[0], 500, 1700) == 1700);
	t_ended("by a message", &c);
	if (setsockopt(sv[0], IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		t_skip("no UDP_SEGMENT");
	t_begin_one(&c, receives_each, &sv[1]);
	t_waits(&c);
	CHECK(send(sv[0], bytes, 2000, 0) == 2000);
	t_ended("by the socket", &c);
	T_RESULT("too many", segments(sv[0], 1, 60000));
	T_RESULT("too large", send(sv[0], bytes, 66000, 0));
	T_RESULT("a page", segments(sv[0], 60000, 65000));
	T_RESULT("left", unread(UDP, sv[1]));
	/* Received as one. */
	CHECK(!setsockopt(sv[1], IPPROTO_UDP, UDP_GRO, &on, sizeof(on)));
	g.fd = sv[1];
	t_begin_one(&c, receives_some, &g);
	t_waits(&c);
	CHECK(send(sv[0], bytes, 2000, MSG_MORE) == 2000);
	t_waits(&c);
	CHECK(send(sv[0], bytes + 2000, 1000, 0) == 1000);
	t_ended("as one", &c);
	CHECK(!memcmp(got, bytes, 3000));
	unmake(sv);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "room", room },	  { "corked", corked },
		{ "receives", receives }, { "nothing", nothing },
		{ "policy", policy },	  { "ctrunc", ctrunc },
		{ "pidfd", pidfd },	  { "segment", segment },
	};

	CHECK(argc == 2);
	t_run_case(cases, T_LEN(cases), argv[1]);
	return 0;
}
