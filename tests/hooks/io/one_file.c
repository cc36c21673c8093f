/*
 * A call that moves its data in parts stays with the file that it began with,
 * when another thread closes the number meanwhile or gives it to another file.
 * It has begun when a part is there and there is no room for more.
 */
#include "t.h"

enum { SIZE = 1 << 20 };

static unsigned char out[SIZE], in[SIZE];
static struct {
	int fd, how;
	long res;
} job;

/* Too small for all of it at once. */
static void tcp(int sv[2])
{
	int size = 65536;

	t_tcp_pair(sv);
	for (int i = 0; i < 2; i++) {
		CHECK(setsockopt(sv[i], SOL_SOCKET, SO_SNDBUF, &size,
				 sizeof(size)) == 0);
		CHECK(setsockopt(sv[i], SOL_SOCKET, SO_RCVBUF, &size,
				 sizeof(size)) == 0);
	}
}

static void *writer(void *arg)
{
	struct iovec v[3] = { { out, 70001 },
			      { out + 70001, 5 },
			      { out + 70006, SIZE - 70006 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };

	if (job.how == 0)
		job.res = write(job.fd, out, SIZE);
	else if (job.how == 1)
		job.res = writev(job.fd, v, 3);
	else if (job.how == 2)
		job.res = send(job.fd, out, SIZE, 0);
	else
		job.res = sendmsg(job.fd, &m, 0);
	return arg;
}

static void until_full(int wr, int rd)
{
	struct pollfd p[2] = { { rd, POLLIN, 0 }, { wr, POLLOUT, 0 } };

	CHECK(poll(&p[0], 1, -1) == 1);
	while (poll(&p[1], 1, 0) != 0)
		t_settle();
	t_settle();
}

/* What the far end of the old file gets, and that the other gets nothing. */
static void one(void (*make)(int[2]), int wr, int how, int replace)
{
	struct pollfd p = { .events = POLLIN };
	int a[2], b[2];
	pthread_t th;

	make(a);
	make(b);
	job.fd = a[wr];
	job.how = how;
	th = t_thread(writer, NULL);
	until_full(a[wr], a[!wr]);
	if (replace)
		CHECK(dup2(b[wr], a[wr]) == a[wr]);
	else
		t_close(a[wr]);
	t_read(a[!wr], in, SIZE);
	t_join(th);
	CHECK(job.res == SIZE);
	t_same(7, 0, in, SIZE);
	t_eof(a[!wr]);
	p.fd = b[!wr];
	CHECK(poll(&p, 1, 0) == 0);
	if (replace)
		t_close(a[wr]);
	t_close(a[!wr]);
	t_close(b[0]);
	t_close(b[1]);
}

static void all(const char *what, void (*make)(int[2]), int wr, int hows)
{
	for (int how = 0; how < hows; how++)
		for (int replace = 0; replace < 2; replace++)
			one(make, wr, how, replace);
	t_say("%s: a write in parts", what);
}

static void *receiver(void *arg)
{
	job.res = recv(job.fd, in, 10, MSG_WAITALL);
	return arg;
}

static void receive_all(const char *what, void (*make)(int[2]))
{
	struct pollfd p = { .events = POLLIN };
	int a[2], b[2];
	pthread_t th;

	make(a);
	make(b);
	job.fd = a[0];
	th = t_thread(receiver, NULL);
	t_write(a[1], "01234", 5);
	p.fd = a[0];
	while (poll(&p, 1, 0) != 0)
		t_settle();
	t_write(b[1], "abcdefghij", 10);
	CHECK(dup2(b[0], a[0]) == a[0]);
	t_write(a[1], "56789", 5);
	t_join(th);
	CHECK(job.res == 10);
	CHECK(memcmp(in, "0123456789", 10) == 0);
	t_read(a[0], in, 10);
	CHECK(memcmp(in, "abcdefghij", 10) == 0);
	for (int i = 0; i < 2; i++) {
		t_close(a[i]);
		t_close(b[i]);
	}
	t_say("%s: a read of all", what);
}

int main(void)
{
	t_be_threaded();
	t_fill(7, 0, out, SIZE);
	all("pipe", t_pipe, 1, 2);
	all("socketpair", t_pair, 0, 4);
	all("tcp", tcp, 0, 4);
	receive_all("socketpair", t_pair);
	receive_all("tcp", t_tcp_pair);
	return 0;
}
