/*
 * Threads that wait for room at one unix socket, each by a socket of its own: they are
 * served in the order they came, whichever call each makes, and those with a time limit
 * among them; and each has its own limit, wherever it stands.
 *
 * t-case: order
 * t-case: large
 * t-case: own
 * t-case: limit_connect
 * t-case: limit_peer
 * t-case: limit_named
 */
#include "../calls.h"

enum { N = 4 };

enum how { SEND, SENDTO, SENDMSG, SENDTO_PEER, SEND_LIMIT, SENDTO_LIMIT };

struct one {
	enum how how;
	int fd, id;
};

static struct sockaddr_un at = { .sun_family = AF_UNIX };

static int open_one(int type)
{
	int fd = socket(AF_UNIX, type, 0);

	CHECK(fd >= 0);
	return fd;
}

static int bind_one(int type)
{
	int fd = open_one(type);

	unlink(at.sun_path);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	return fd;
}

static void limit(int fd, int seconds)
{
	struct timeval tv = { seconds, 0 };

	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0);
}

static int connect_to(int fd)
{
	return connect(fd, (struct sockaddr *)&at, sizeof(at));
}

static int is_connected(enum how how)
{
	return how == SEND || how == SENDTO_PEER || how == SEND_LIMIT;
}

/* --- datagrams -------------------------------------------------------------- */

static long transmit(void *arg)
{
	const struct one *o = arg;
	char c = (char)('0' + o->id);
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_name = &at,
			    .msg_namelen = sizeof(at),
			    .msg_iov = &v,
			    .msg_iovlen = 1 };

	if (o->how == SENDMSG)
		return sendmsg(o->fd, &m, 0);
	if (o->how == SEND || o->how == SEND_LIMIT)
		return send(o->fd, &c, 1, 0);
	return sendto(o->fd, &c, 1, 0, (struct sockaddr *)&at, sizeof(at));
}

static struct one sender(enum how how, int id)
{
	struct one o = { how, open_one(SOCK_DGRAM), id };

	if (is_connected(how))
		CHECK(connect_to(o.fd) == 0);
	if (how >= SEND_LIMIT)
		limit(o.fd, 3600);
	return o;
}

static int fill_receiver(void)
{
	int fd = open_one(SOCK_DGRAM), n = 0;

	while (sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      sizeof(at)) == 1)
		n++;
	CHECK(errno == EAGAIN);
	t_close(fd);
	return n;
}

static void datagrams(const char *what, const enum how how[N])
{
	int to = bind_one(SOCK_DGRAM), full = fill_receiver(), n = 0;
	char order[N + 1] = "", c;
	struct t_call call[N];
	struct one o[N];

	for (int i = 0; i < N; i++) {
		o[i] = sender(how[i], i);
		t_begin(&call[i], transmit, &o[i]);
		t_waits(&call[i]);
	}
	for (int i = 0; i < full + N; i++) {
		CHECK(recv(to, &c, 1, 0) == 1);
		if (c != 'x')
			order[n++] = c;
		t_pause();
	}
	for (int i = 0; i < N; i++) {
		CHECK(t_end(&call[i]) == 1);
		t_close(o[i].fd);
	}
	t_say("%s: %s", what, order);
	t_close(to);
}

/*
 * The receiver has room while more than a quarter of the sender's own buffer is used:
 * poll does not tell of that.
 */
static void large(const char *what, enum how how)
{
	static char text[12000];
	struct one o;
	struct t_call c;
	int to = bind_one(SOCK_DGRAM);

	o = sender(how, 1);
	while (sendto(o.fd, text, sizeof(text), MSG_DONTWAIT,
		      (struct sockaddr *)&at, sizeof(at)) == sizeof(text))
		;
	CHECK(errno == EAGAIN);
	t_begin(&c, transmit, &o);
	t_waits(&c);
	CHECK(recv(to, text, sizeof(text), 0) == sizeof(text));
	t_ended(what, &c);
	t_close(o.fd);
	t_close(to);
}

/*
 * Its own buffer is full: who waits for that goes on when three quarters of it are free,
 * and not as soon as there is some room.
 */
static void own(const char *what, enum how how)
{
	enum { SIZE = 2000, SNDBUF = 8192 };
	static char text[SIZE];
	struct one o;
	struct t_call c;
	int to = bind_one(SOCK_DGRAM), size = SNDBUF, n = 0;

	o = sender(how, 1);
	CHECK(setsockopt(o.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ==
	      0);
	while (sendto(o.fd, text, sizeof(text), MSG_DONTWAIT,
		      (struct sockaddr *)&at, sizeof(at)) == sizeof(text))
		n++;
	CHECK(errno == EAGAIN && n > 2);
	t_begin(&c, transmit, &o);
	CHECK(recv(to, text, sizeof(text), 0) == sizeof(text));
	for (int i = 0; i < 5; i++)
		t_waits(&c);
	while (--n)
		CHECK(recv(to, text, sizeof(text), 0) == sizeof(text));
	t_ended(what, &c);
	t_close(o.fd);
	t_close(to);
}

/* --- connections ------------------------------------------------------------- */

static long call_connect(void *arg)
{
	return connect_to(*(int *)arg);
}

static int fill_listener(void)
{
	int l = bind_one(SOCK_STREAM), fd = open_one(SOCK_STREAM);

	CHECK(listen(l, 0) == 0);
	CHECK(connect_to(fd) == 0);
	t_close(fd);
	return l;
}

static void take(int l)
{
	t_close(accept(l, NULL, NULL));
}

static void begin_connect(struct t_call *call, int *fd, int i)
{
	fd[i] = open_one(SOCK_STREAM);
	if (i >= 2)
		limit(fd[i], 3600);
	t_begin(&call[i], call_connect, &fd[i]);
	t_waits(&call[i]);
}

/* The last one comes when the first has been served: there is none who waits alone. */
static void connections(void)
{
	struct t_call call[N + 1];
	int l = fill_listener(), fd[N + 1], begun;

	for (begun = 0; begun < N; begun++)
		begin_connect(call, fd, begun);
	for (int i = 0; i <= N; i++) {
		take(l);
		CHECK(t_end(&call[i]) == 0);
		t_pause();
		for (int k = i + 1; k < begun; k++)
			t_waits(&call[k]);
		if (begun <= N)
			begin_connect(call, fd, begun++);
		t_close(fd[i]);
	}
	t_say("connections: as they came");
	take(l);
	t_close(l);
}

/* --- limits --------------------------------------------------------------------- */

static void both_end(const char *what, long (*call)(void *), void *first,
		     void *second)
{
	struct timespec ts = { 4, 0 };
	struct t_call a, b;

	t_begin(&a, call, first);
	t_begin(&b, call, second);
	while (nanosleep(&ts, &ts) != 0)
		;
	t_say("%s: first %s, second %s by then", what,
	      atomic_load(&a.ended) ? "over" : "waits",
	      atomic_load(&b.ended) ? "over" : "waits");
	t_ended("first", &a);
	t_ended("second", &b);
}

/* The second one's turn comes when most of its time is over. */
static void connect_limits(void)
{
	int l = fill_listener(), fd[2];

	for (int i = 0; i < 2; i++) {
		fd[i] = open_one(SOCK_STREAM);
		limit(fd[i], 2 + i);
	}
	both_end("connect", call_connect, &fd[0], &fd[1]);
	for (int i = 0; i < 2; i++)
		t_close(fd[i]);
	t_close(l);
}

static void datagram_limits(const char *what, enum how how)
{
	int to = bind_one(SOCK_DGRAM);
	struct one o[2];

	fill_receiver();
	for (int i = 0; i < 2; i++) {
		o[i] = sender(how, i);
		limit(o[i].fd, 2 + i);
	}
	both_end(what, transmit, &o[0], &o[1]);
	for (int i = 0; i < 2; i++)
		t_close(o[i].fd);
	t_close(to);
}

static void *run(void *arg)
{
	const char *how = arg;

	if (!strcmp(how, "large")) {
		large("a peer", SEND);
		large("a named one", SENDTO);
	} else if (!strcmp(how, "own")) {
		own("by a peer's", SEND);
		own("by a named one's", SENDTO);
	} else if (!strcmp(how, "limit_connect")) {
		connect_limits();
	} else if (!strcmp(how, "limit_peer")) {
		datagram_limits("a peer", SEND_LIMIT);
	} else if (!strcmp(how, "limit_named")) {
		datagram_limits("a named one", SENDTO_LIMIT);
	} else {
		datagrams("peers", (enum how[]){ SEND, SEND, SEND, SEND });
		datagrams("named",
			  (enum how[]){ SENDTO, SENDMSG, SENDTO, SENDMSG });
		datagrams("both",
			  (enum how[]){ SEND, SENDTO, SENDTO_PEER, SENDMSG });
		datagrams("limits", (enum how[]){ SEND, SENDTO, SEND_LIMIT,
						  SENDTO_LIMIT });
		connections();
	}
	return arg;
}

int main(int argc, char **argv)
{
	snprintf(at.sun_path, sizeof(at.sun_path), "./line");
	t_join(t_thread(run, argc > 1 ? argv[1] : "order"));
	return 0;
}
