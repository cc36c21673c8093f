/*
 * One byte at a time into readers that ask for more, over TCP with and
 * without delays: the wait after each short read is never lost.
 */
#include "t.h"

enum { N = 10, BYTES = 2000 };

static void *reader(void *arg)
{
	char b[64];
	int sum = 0;
	ssize_t n;

	while ((n = recv(*(int *)arg, b, sizeof(b), 0)) > 0)
		for (ssize_t i = 0; i < n; i++)
			CHECK(b[i] == (char)sum++);
	CHECK(n == 0);
	return (void *)(intptr_t)sum;
}

static void *writer(void *arg)
{
	int fd = *(int *)arg, one = 1;

	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
	for (int i = 0; i < BYTES; i++) {
		t_put(fd, (char)i);
		if (i % 7 == 0)
			sched_yield();
	}
	t_close(fd);
	return NULL;
}

int main(void)
{
	static int sv[N][2];
	pthread_t r[N], w[N];

	for (int i = 0; i < N; i++) {
		t_tcp_pair(sv[i]);
		r[i] = t_thread(reader, &sv[i][0]);
		w[i] = t_thread(writer, &sv[i][1]);
	}
	for (int i = 0; i < N; i++) {
		CHECK((intptr_t)t_join(r[i]) == BYTES);
		t_join(w[i]);
	}
	t_say("%d x %d bytes", N, BYTES);
	return 0;
}
