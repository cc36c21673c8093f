/* shutdown() wakes this process's own blocked readers, writers, acceptors. */
#include "../calls.h"

static void *reader(void *arg)
{
	t_eof(*(int *)arg);
	return NULL;
}

static void *writer(void *arg)
{
	static char b[8 << 20];
	ssize_t n;

	do
		n = send(*(int *)arg, b, sizeof(b), MSG_NOSIGNAL);
	while (n > 0);
	CHECK(errno == EPIPE);
	return NULL;
}

static long waits_for_room(void *arg)
{
	return send(*(int *)arg, "x", 1, MSG_NOSIGNAL);
}

static void *acceptor(void *arg)
{
	CHECK_ERR(accept(*(int *)arg, NULL, NULL), EINVAL);
	return NULL;
}

static void *poller(void *arg)
{
	struct pollfd pf = { *(int *)arg, POLLRDHUP, 0 };

	CHECK(poll(&pf, 1, 20000) == 1);
	CHECK(pf.revents & POLLRDHUP);
	return NULL;
}

int main(void)
{
	pthread_t th[4];
	int sv[2], hold[2], l, port;
	struct t_call c;
	pid_t pid = 0, other;

	for (int tcp = 0; tcp < 2; tcp++) {
		if (tcp)
			t_tcp_pair(sv);
		else
			t_pair(sv);
		th[0] = t_thread(reader, &sv[0]);
		th[1] = t_thread(reader, &sv[0]);
		th[2] = t_thread(writer, &sv[0]);
		th[3] = t_thread(poller, &sv[0]);
		t_settle();
		CHECK(shutdown(sv[0], SHUT_RDWR) == 0);
		for (int i = 0; i < 4; i++)
			t_join(th[i]);
		t_close(sv[0]);
		t_close(sv[1]);
		t_say("%s", tcp ? "tcp" : "unix");
	}
	/* unix_poll() tells nothing of this, and the sender's number is closed. */
	for (int child = 0; child < 2; child++) {
		t_pair(sv);
		while (send(sv[1], "filled", 6, MSG_DONTWAIT) > 0)
			;
		t_begin(&c, waits_for_room, &sv[1]);
		t_close(sv[1]);
		if (!child)
			CHECK(shutdown(sv[0], SHUT_RD) == 0);
		else if ((pid = fork()) == 0)
			_exit(shutdown(sv[0], SHUT_RD) != 0);
		if (child)
			t_wait_ok(pid);
		t_ended("closed, and shut by its peer", &c);
		t_close(sv[0]);
	}

	/* It waits, and has been looked at, before another process has the socket. */
	t_pipe(hold);
	CHECK((pid = fork()) >= 0);
	if (pid == 0)
		_exit((t_close(hold[1]), t_eof(hold[0]), 0));
	th[1] = t_thread(reader, &hold[0]);
	t_pair(sv);
	while (send(sv[1], "filled", 6, MSG_DONTWAIT) > 0)
		;
	t_begin(&c, waits_for_room, &sv[1]);
	for (int i = 0; i < 10; i++)
		t_settle();
	CHECK((other = fork()) >= 0);
	if (other == 0) {
		t_close(hold[1]);
		CHECK(shutdown(sv[1], SHUT_WR) == 0);
		_exit((t_eof(hold[0]), 0));
	}
	t_ended("shared, and shut by another process", &c);
	t_close(hold[1]);
	t_join(th[1]);
	t_wait_ok(pid);
	t_wait_ok(other);

	l = t_listen(&port);
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(acceptor, &l);
	t_settle();
	CHECK(shutdown(l, SHUT_RDWR) == 0);
	for (int i = 0; i < 4; i++)
		t_join(th[i]);
	t_say("listener");

	/* Half closed: one direction ends, the other goes on. */
	t_tcp_pair(sv);
	th[0] = t_thread(reader, &sv[1]);
	t_settle();
	CHECK(shutdown(sv[0], SHUT_WR) == 0);
	t_join(th[0]);
	t_put(sv[1], 'k');
	CHECK(t_get(sv[0]) == 'k');
	CHECK_ERR(send(sv[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	t_say("half closed");
	l = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERR(shutdown(l, SHUT_RD), ENOTCONN);
	return 0;
}
