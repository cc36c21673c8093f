/* MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT, MSG_TRUNC, MSG_OOB. */
#include "t.h"

static void *pieces(void *arg)
{
	for (int i = 0; i < 10; i++) {
		t_settle();
		t_write(*(int *)arg, "0123456789", 10);
	}
	return NULL;
}

static void *peek_blocked(void *arg)
{
	char b[8];

	CHECK(recv(*(int *)arg, b, 8, MSG_PEEK) == 3);
	CHECK(recv(*(int *)arg, b, 8, MSG_PEEK) == 3);
	CHECK(recv(*(int *)arg, b, 2, 0) == 2);
	CHECK(recv(*(int *)arg, b + 2, 8, 0) == 1);
	CHECK(memcmp(b, "abc", 3) == 0);
	return NULL;
}

static void stream(const char *what, int sv[2])
{
	pthread_t th = t_thread(pieces, &sv[1]);
	char b[200];

	CHECK(recv(sv[0], b, 100, MSG_WAITALL) == 100);
	for (int i = 0; i < 100; i++)
		CHECK(b[i] == '0' + i % 10);
	t_join(th);
	CHECK_ERR(recv(sv[0], b, 1, MSG_DONTWAIT), EAGAIN);
	th = t_thread(peek_blocked, &sv[0]);
	t_settle();
	CHECK(send(sv[1], "abc", 3, MSG_DONTWAIT) == 3);
	t_join(th);
	th = t_thread(pieces, &sv[1]);
	t_join(th);
	CHECK(shutdown(sv[1], SHUT_WR) == 0);
	CHECK(recv(sv[0], b, 200, MSG_WAITALL) == 100);
	CHECK(recv(sv[0], b, 200, MSG_WAITALL) == 0);
	t_say("%s", what);
}

static void *wait_urgent(void *arg)
{
	struct pollfd pf = { *(int *)arg, POLLPRI, 0 };
	char c;

	CHECK(poll(&pf, 1, 20000) == 1);
	CHECK(pf.revents & POLLPRI);
	CHECK(recv(pf.fd, &c, 1, MSG_OOB) == 1);
	return (void *)(intptr_t)c;
}

/* The mark splits the stream: no read crosses it, none hangs before it. */
static void urgent(void)
{
	int sv[2];
	char b[16];
	pthread_t th;

	t_tcp_pair(sv);
	th = t_thread(wait_urgent, &sv[0]);
	t_settle();
	t_write(sv[1], "abc", 3);
	CHECK(send(sv[1], "!", 1, MSG_OOB) == 1);
	t_write(sv[1], "def", 3);
	CHECK((intptr_t)t_join(th) == '!');
	CHECK_ERR(recv(sv[0], b, 1, MSG_OOB), EINVAL);
	CHECK(recv(sv[0], b, 3, MSG_WAITALL) == 3);
	CHECK(memcmp(b, "abc", 3) == 0);
	CHECK(recv(sv[0], b, 3, MSG_WAITALL) == 3);
	CHECK(memcmp(b, "def", 3) == 0);
	t_say("urgent data");
}

int main(void)
{
	int sv[2];

	t_pair(sv);
	stream("unix", sv);
	t_tcp_pair(sv);
	stream("tcp", sv);
	t_tcp_pair(sv);
	CHECK(send(sv[1], "abcdef", 6, 0) == 6);
	CHECK(recv(sv[0], NULL, 4, MSG_TRUNC | MSG_WAITALL) == 4);
	CHECK(t_get(sv[0]) == 'e');
	t_say("truncating receive");
	urgent();
	return 0;
}
