/*
 * A datagram for a unix socket that has no room, by a socket that is connected to it, and
 * meanwhile to none, or to another one: the send waits for the one that it has named, and
 * uses no processor meanwhile. Where it waits for room in its own buffer, and there is some,
 * it goes on then, or is told that its socket has been shut; not when another one is parted
 * or shut.
 *
 * t-case: none
 * t-case: other
 * t-case: other_full
 * t-case: own
 * t-case: shut
 * t-case: crowded
 */
#include "../calls.h"

static struct sockaddr_un here = { AF_UNIX, "here" },
			  there = { AF_UNIX, "there" };
static int from;

static int receiver(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	unlink(at->sun_path);
	CHECK_0(bind(fd, (const struct sockaddr *)at, sizeof(*at)));
	return fd;
}

static void fill(const struct sockaddr_un *at)
{
	while (sendto(from, "x", 1, MSG_DONTWAIT, (const struct sockaddr *)at,
		      sizeof(*at)) == 1)
		;
	CHECK(errno == EAGAIN);
}

static long send_named(void *arg)
{
	return sendto(from, "last", 4, 0, arg, sizeof(here));
}

/* How many there are; the last one. */
static void take_all(int fd, const char *name)
{
	char b[8] = "";
	int n = 0;

	/* What waits for room comes when there is some. */
	while (b[0] != 'l') {
		t_read(fd, b, 1);
		n++;
	}
	CHECK(recv(fd, b, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	t_say("%s: %d datagrams", name, n);
}

static long send_connected(void *arg)
{
	return send(*(int *)arg, "last", 4, 0);
}

static long nothing(void *arg)
{
	return arg != NULL;
}

/* The first one's own buffer is full. */
static void full_pair(int sv[2])
{
	CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv));
	while (send(sv[0], "x", 1, MSG_DONTWAIT) == 1)
		;
	CHECK(errno == EAGAIN);
}

/* There is room for it by then, less than it is woken for. */
static void own_room(const char *name, const struct sockaddr *to, size_t len,
		     int by_twin)
{
	struct t_call c;
	int sv[2], by;
	char b;

	full_pair(sv);
	by = by_twin ? dup(sv[0]) : sv[0];
	t_begin(&c, send_connected, &sv[0]);
	t_read(sv[1], &b, 1);
	t_waits(&c);
	CHECK_0(connect(by, to, (socklen_t)len));
	t_ended(name, &c);
	t_close(sv[0]);
	t_close(sv[1]);
	if (by_twin)
		t_close(by);
}

/* The peer's, and another one's: it waits until three quarters are free. */
static void shut(const char *name, int own, int by_twin)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct t_call c;
	int sv[2], other[2], by;
	char b;

	full_pair(sv);
	CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, other));
	by = by_twin ? dup(sv[0]) : sv[0];
	t_begin(&c, send_connected, &sv[0]);
	t_read(sv[1], &b, 1);
	t_waits(&c);
	CHECK_0(connect(other[1], &none, sizeof(none)));
	CHECK_0(shutdown(other[0], SHUT_RDWR));
	CHECK_0(shutdown(own ? by : sv[1], SHUT_RDWR));
	if (!own) {
		t_rests();
		t_waits(&c);
		while (recv(sv[1], &b, 1, MSG_DONTWAIT) == 1)
			;
	}
	t_ended(name, &c);
	for (int i = 0; i < 2; i++) {
		t_close(sv[i]);
		t_close(other[i]);
	}
	if (by_twin)
		t_close(by);
}

/*
 * While it waits for room at its peer others take much of its socket's own buffer, which
 * poll does not call writable then: it goes when that one has room.
 */
static void crowded(int to)
{
	static char large[30000];
	int other = receiver(&there), by = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct t_call c;

	from = by;
	fill(&here);
	CHECK_0(connect(by, (struct sockaddr *)&here, sizeof(here)));
	t_begin(&c, send_connected, &by);
	for (int i = 0; i < 3; i++)
		CHECK(sendto(by, large, sizeof(large), MSG_DONTWAIT,
			     (struct sockaddr *)&there,
			     sizeof(there)) == sizeof(large));
	t_waits(&c);
	take_all(to, "crowded");
	t_ended("sent", &c);
	t_close(other);
	t_close(by);
}

int main(int argc, char **argv)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	const char *how = argc == 2 ? argv[1] : "";
	int a = receiver(&here), b = receiver(&there);
	struct t_call c;
	char last[4];

	t_begin(&c, nothing, NULL); /* hooked: what is made is known */
	CHECK_0(t_end(&c));
	if (!strcmp(how, "crowded")) {
		crowded(a);
		return 0;
	}
	if (!strcmp(how, "own")) {
		own_room("none", &none, sizeof(none), 0);
		own_room("another", (struct sockaddr *)&there, sizeof(there),
			 0);
		own_room("a twin's", &none, sizeof(none), 1);
		t_read(b, last, sizeof(last));
		t_say("to the other one: %.4s", last);
		return 0;
	}
	if (!strcmp(how, "shut")) {
		shut("the peer is shut", 0, 0);
		shut("it is shut", 1, 0);
		shut("its twin is shut", 1, 1);
		return 0;
	}
	from = socket(AF_UNIX, SOCK_DGRAM, 0);
	fill(&here);
	if (!strcmp(how, "other_full"))
		fill(&there);
	CHECK_0(connect(from, (struct sockaddr *)&here, sizeof(here)));
	t_begin(&c, send_named, &here);
	if (!strcmp(how, "none"))
		CHECK_0(connect(from, &none, sizeof(none)));
	else
		CHECK_0(connect(from, (struct sockaddr *)&there,
				sizeof(there)));
	t_rests();
	t_waits(&c);
	take_all(a, how);
	t_ended("sent", &c);
	t_close(a);
	t_close(b);
	return 0;
}
