/*
 * close() while another thread is blocked in read on that descriptor: the
 * read goes on, and still gets the data that arrives. A read that came too
 * late gets EBADF: tried until the interesting case was seen.
 */
#include "t.h"

static void *reader(void *arg)
{
	char c;
	ssize_t n = read(*(int *)arg, &c, 1);

	if (n == 1)
		return (void *)(intptr_t)c;
	CHECK(n == -1);
	CHECK(errno == EBADF);
	return NULL;
}

static int attempt(int p[2], int reuse)
{
	int rd = p[0], other[2], got;
	pthread_t th = t_begun(reader, &rd);

	t_settle();
	t_close(p[0]);
	if (reuse) {
		/* The number now means something else, with data in it. */
		t_pipe(other);
		if (other[1] == p[0]) {
			other[1] = dup(other[1]);
			CHECK(other[1] >= 0);
		}
		if (other[0] != p[0]) {
			CHECK(dup2(other[0], p[0]) == p[0]);
			t_close(other[0]);
		}
		t_put(other[1], 'n');
	}
	if (write(p[1], "d", 1) != 1)
		CHECK(errno == EPIPE);
	got = (int)(intptr_t)t_join(th);
	if (reuse) {
		/* 0: it came between the close and the number's next file. */
		CHECK(got == 'd' || got == 'n' || got == 0);
		if (got == 'd')
			CHECK(t_get(p[0]) == 'n');
		t_close(p[0]);
		t_close(other[1]);
	} else {
		CHECK(got == 'd' || got == 0);
	}
	t_close(p[1]);
	return got == 'd';
}

static void repeat(const char *what, void (*make)(int[2]), int reuse)
{
	int p[2], seen = 0;

	for (int i = 0; i < 50 && seen < 5; i++) {
		make(p);
		seen += attempt(p, reuse);
	}
	CHECK(seen == 5);
	t_say("%s%s: the blocked reader got the data", what,
	      reuse ? ", number reused" : "");
}

int main(void)
{
	t_handle(SIGPIPE, SIG_IGN, 0);
	repeat("pipe", t_pipe, 0);
	repeat("socketpair", t_pair, 0);
	repeat("tcp", t_tcp_pair, 0);
	repeat("pipe", t_pipe, 1);
	repeat("socketpair", t_pair, 1);
	repeat("tcp", t_tcp_pair, 1);
	return 0;
}
