/* A read returns what is there; zero lengths; end of file, again and again. */
#include "t.h"

static void *late_writer(void *arg)
{
	int *fd = arg;

	t_settle();
	t_write(fd[0], "hello", 5);
	CHECK(t_get(fd[1]) == 'g');
	t_write(fd[0], "world", 5);
	t_close(fd[0]);
	return NULL;
}

static void one(const char *what, int rd, int wr)
{
	int ack[2], fds[2];
	char buf[100];
	pthread_t th;

	t_pair(ack);
	fds[0] = wr;
	fds[1] = ack[0];
	th = t_thread(late_writer, fds);
	CHECK(read(rd, buf, sizeof(buf)) == 5);
	CHECK(memcmp(buf, "hello", 5) == 0);
	CHECK(read(rd, buf, 0) == 0);
	t_put(ack[1], 'g');
	CHECK(read(rd, buf, 2) == 2);
	CHECK(read(rd, buf + 2, sizeof(buf) - 2) == 3);
	CHECK(memcmp(buf, "world", 5) == 0);
	for (int i = 0; i < 3; i++)
		t_eof(rd);
	t_join(th);
	t_close(rd);
	t_say("%s", what);
}

int main(void)
{
	int p[2];

	t_pipe(p);
	one("pipe", p[0], p[1]);
	t_pair(p);
	one("socketpair", p[0], p[1]);
	t_tcp_pair(p);
	one("tcp", p[0], p[1]);
	t_pipe(p);
	CHECK(write(p[1], "", 0) == 0);
	t_pair(p);
	CHECK(write(p[1], "", 0) == 0);
	CHECK_ERR(recv(p[0], &p, 1, MSG_DONTWAIT), EAGAIN);
	t_say("zero-length writes");
	return 0;
}
