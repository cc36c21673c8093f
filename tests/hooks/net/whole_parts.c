/*
 * A receive with MSG_WAITALL to which what it wants comes in parts: what ends it, and
 * what stands in its header then.
 */
#include "../calls.h"
#include <sys/ioctl.h>
#include <sys/wait.h>

enum { WHOLE = 12 };

struct one {
	int fd;
	char got[WHOLE + 1];
	int flags; /* of the message; -1: by recv() */
	size_t room, control;
};

/* By recv() with no flag. */
static long receive_some(void *arg)
{
	struct one *o = arg;
	long r = recv(o->fd, o->got, WHOLE, 0);

	return r < 0 ? -errno : r;
}

static long receive(void *arg)
{
	struct one *o = arg;
	struct iovec v[3] = { { o->got, 5 },
			      { o->got + 5, 1 },
			      { o->got + 6, WHOLE - 6 } };
	char control[CMSG_SPACE(sizeof(struct timeval))];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
	long r;

	if (o->flags < 0) {
		r = recv(o->fd, o->got, WHOLE, MSG_WAITALL);
		return r < 0 ? -errno : r;
	}
	m.msg_control = o->room ? control : NULL;
	m.msg_controllen = o->room;
	r = recvmsg(o->fd, &m, MSG_WAITALL);
	if (r < 0)
		return -errno;
	o->flags = m.msg_flags;
	o->control = m.msg_controllen;
	return r;
}

static void put(int fd, const char *text)
{
	t_pause();
	t_write(fd, text, strlen(text));
}

static void told(const char *what, struct t_call *c, const struct one *o)
{
	long r = t_end(c);

	t_say("%s: %ld \"%s\", %x, control %zu", what, r, o->got,
	      (unsigned)o->flags, o->control);
}

static void begin(struct t_call *c, struct one *o, int fd, int flags,
		  size_t room)
{
	*o = (struct one){ .fd = fd, .flags = flags, .room = room };
	t_begin(c, receive, o);
}

static void close_both(const int s[2])
{
	t_close(s[0]);
	t_close(s[1]);
}

/* --- for each kind of stream --------------------------------------------------- */

static void parts(void (*make)(int[2]))
{
	struct t_call c;
	struct one o;
	int s[2];

	for (int flags = -1; flags <= 0; flags++) {
		make(s);
		begin(&c, &o, s[0], flags, 0);
		put(s[1], "abc");
		put(s[1], "def");
		put(s[1], "ghijklmn");
		told("three parts", &c, &o);
		begin(&c, &o, s[0], flags, 0);
		put(s[1], "op");
		put(s[1], "qr");
		CHECK(shutdown(s[1], SHUT_WR) == 0);
		told("what was left, and an end", &c, &o);
		begin(&c, &o, s[0], flags, 0);
		told("the end", &c, &o);
		close_both(s);
	}
}

/* The number is another file's, and the rest comes to the one that it was. */
static void closed(void (*make)(int[2]))
{
	struct t_call c;
	struct one o;
	int s[2], other[2];

	make(s);
	make(other);
	begin(&c, &o, s[0], -1, 0);
	put(s[1], "abc");
	t_pause();
	CHECK(dup2(other[0], s[0]) == s[0]);
	t_write(other[1], "0123456789ABCDEF", 16);
	put(s[1], "defghijkl");
	told("closed after a part", &c, &o);
	close_both(s);
	close_both(other);
}

static void nothing(int sig)
{
	(void)sig;
}

static void interrupted(void (*make)(int[2]), int flags)
{
	struct sigaction sa = { .sa_handler = nothing, .sa_flags = flags };
	struct t_call c;
	struct one o;
	int s[2];

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	make(s);
	begin(&c, &o, s[0], -1, 0);
	if (flags) {
		pthread_kill(c.th, SIGUSR1);
		t_pause();
	}
	put(s[1], "abc");
	t_pause();
	pthread_kill(c.th, SIGUSR1);
	told("a handler after a part", &c, &o);
	close_both(s);
}

/* It waits as it has begun. */
static void nonblock(void (*make)(int[2]))
{
	struct t_call c;
	struct one o;
	int s[2], yes = 1;

	make(s);
	begin(&c, &o, s[0], -1, 0);
	put(s[1], "abc");
	t_pause();
	CHECK(ioctl(s[0], FIONBIO, &yes) == 0);
	t_waits(&c);
	put(s[1], "defghijkl");
	told("O_NONBLOCK after a part", &c, &o);
	begin(&c, &o, s[0], -1, 0);
	told("O_NONBLOCK, and nothing", &c, &o);
	t_write(s[1], "mno", 3);
	begin(&c, &o, s[0], -1, 0);
	told("O_NONBLOCK, and a part", &c, &o);
	close_both(s);
}

/* SO_RCVLOWAT: so many end it. Of TCP, fewer than that wake nobody. */
static void at_least(void (*make)(int[2]))
{
	struct t_call c;
	struct one o;
	int s[2], n = 6;

	make(s);
	CHECK(setsockopt(s[0], SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n)) == 0);
	for (int i = 0; i < 3; i++) {
		o = (struct one){ .fd = s[0] };
		t_begin(&c, receive_some, &o);
		put(s[1], "ab");
		t_waits(&c);
		put(s[1], "cd");
		t_waits(&c);
		if (i == 0)
			put(s[1], "efghij");
		else if (i == 1)
			pthread_kill(c.th, SIGUSR1);
		else
			CHECK(shutdown(s[1], SHUT_WR) == 0);
		told("at least six", &c, &o);
		while (recv(s[0], o.got, WHOLE, MSG_DONTWAIT) > 0)
			;
	}
	close_both(s);
}

static void all(const char *what, void (*make)(int[2]))
{
	t_say("%s:", what);
	parts(make);
	closed(make);
	interrupted(make, 0);
	interrupted(make, SA_RESTART);
	nonblock(make);
	at_least(make);
}

/* --- TCP ------------------------------------------------------------------------ */

/* The error comes after a part, beside more of it, and stays. */
static void reset(void)
{
	struct linger now = { 1, 0 };
	struct t_call c;
	struct one o;
	int s[2];

	t_tcp_pair(s);
	begin(&c, &o, s[0], -1, 0);
	put(s[1], "abc");
	t_pause();
	t_write(s[1], "def", 3);
	CHECK(setsockopt(s[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
	t_close(s[1]);
	told("reset", &c, &o);
	begin(&c, &o, s[0], -1, 0);
	told("its error", &c, &o);
	begin(&c, &o, s[0], -1, 0);
	told("the end", &c, &o);
	t_close(s[0]);
}

static void mark(int is_inline)
{
	struct t_call c;
	struct one o;
	int s[2];

	t_tcp_pair(s);
	CHECK(setsockopt(s[0], SOL_SOCKET, SO_OOBINLINE, &is_inline,
			 sizeof(is_inline)) == 0);
	begin(&c, &o, s[0], -1, 0);
	put(s[1], "abc");
	t_pause();
	CHECK(send(s[1], "X", 1, MSG_OOB) == 1);
	put(s[1], "def");
	told("a mark after a part", &c, &o);
	t_write(s[1], "ghijklmnopqr", 12);
	begin(&c, &o, s[0], -1, 0);
	told("what is behind it", &c, &o);
	close_both(s);
}

static void stamps(void)
{
	struct t_call c;
	struct one o;
	int s[2], yes = 1;

	t_tcp_pair(s);
	CHECK(setsockopt(s[0], SOL_SOCKET, SO_TIMESTAMP, &yes, sizeof(yes)) ==
	      0);
	for (int room = 0; room <= 1; room++) {
		begin(&c, &o, s[0], 0,
		      room ? CMSG_SPACE(sizeof(struct timeval)) : 0);
		put(s[1], "abcdef");
		put(s[1], "ghijkl");
		told("time stamps", &c, &o);
	}
	close_both(s);
}

/* --- unix sockets ---------------------------------------------------------------- */

static void put_rights(int fd, const char *text)
{
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} u = { .h = { .cmsg_level = SOL_SOCKET,
		       .cmsg_type = SCM_RIGHTS,
		       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec v = { (void *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	memset(CMSG_DATA(&u.h), 0, sizeof(int));
	t_pause();
	CHECK(sendmsg(fd, &m, 0) == (ssize_t)v.iov_len);
}

/* By recv(), by a message without room for them, and by one that has it. */
static void rights(void)
{
	struct t_call c;
	struct one o;
	char rest[WHOLE];
	int s[2];

	for (int how = -1; how <= 1; how++) {
		t_pair(s);
		begin(&c, &o, s[0], how < 0 ? -1 : 0,
		      how > 0 ? CMSG_SPACE(sizeof(int)) : 0);
		put(s[1], "abc");
		put_rights(s[1], "def");
		put(s[1], "ghi");
		told("descriptors with the second part", &c, &o);
		CHECK(recv(s[0], rest, sizeof(rest), 0) == 3);
		close_both(s);
	}
}

/* What another process writes has another sender. */
static void senders(int how, const char *what)
{
	struct t_call c;
	struct one o;
	int s[2], yes = 1;
	pid_t pid;

	t_pair(s);
	if (how)
		CHECK(setsockopt(s[0], SOL_SOCKET, SO_PASSCRED, &yes,
				 sizeof(yes)) == 0);
	t_write(s[1], "abcdef", 6);
	pid = fork();
	if (pid == 0)
		_exit(write(s[1], "ghijkl", 6) != 6);
	CHECK(pid > 0 && waitpid(pid, &how, 0) == pid && how == 0);
	begin(&c, &o, s[0], -1, 0);
	told(what, &c, &o);
	close_both(s);
}

static void *run(void *arg)
{
	all("tcp", t_tcp_pair);
	reset();
	mark(0);
	mark(1);
	stamps();
	all("unix", t_pair);
	rights();
	senders(0, "two senders");
	senders(1, "two senders, told apart");
	return arg;
}

int main(void)
{
	t_join(t_thread(run, NULL));
	return 0;
}
