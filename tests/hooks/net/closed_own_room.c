/*
 * Who waits for room in the buffer of its own unix socket, whose number is closed under it:
 * it waits until most of that is free, as if it were not. It is told when the socket, or
 * its other end, is shut or closed.
 *
 * t-case: dgram
 * t-case: seqpacket
 * t-case: stream
 */
#include "../calls.h"

enum end { DRAINED, SHUT, CLOSED };

static long sends(void *arg)
{
	return send(*(int *)arg, "last", 4, MSG_NOSIGNAL);
}

static void waits_for(const char *name, int type, enum end end, int by_twin)
{
	int ends[2], twin = -1;
	struct t_call c;
	char b[64];

	CHECK_0(socketpair(AF_UNIX, type, 0, ends));
	while (send(ends[0], "x", 1, MSG_DONTWAIT) == 1)
		;
	CHECK(errno == EAGAIN);
	if (by_twin)
		twin = dup(ends[0]);
	t_begin(&c, sends, &ends[0]);
	t_close(ends[0]);
	CHECK(recv(ends[1], b, sizeof(b), 0) > 0);
	t_rests();
	t_waits(&c);
	switch (end) {
	case DRAINED:
		while (recv(ends[1], b, sizeof(b), MSG_DONTWAIT) > 0)
			;
		break;
	case SHUT:
		CHECK_0(shutdown(by_twin ? twin : ends[1], SHUT_RDWR));
		break;
	case CLOSED:
		t_close(ends[1]);
	}
	t_ended(name, &c);
	if (by_twin)
		t_close(twin);
	if (end != CLOSED)
		t_close(ends[1]);
}

static long nothing(void *arg)
{
	return arg != NULL;
}

int main(int argc, char **argv)
{
	int type = t_type(argc == 2 ? argv[1] : "stream");
	struct t_call c;

	t_begin(&c, nothing, NULL); /* hooked: what is made is known */
	CHECK_0(t_end(&c));
	for (int by_twin = 0; by_twin < 2; by_twin++) {
		waits_for("drained", type, DRAINED, by_twin);
		/* Of datagrams its own end alone ends the wait. */
		if (by_twin || type != SOCK_DGRAM)
			waits_for("shut", type, SHUT, by_twin);
		waits_for("closed", type, CLOSED, by_twin);
	}
	return 0;
}
