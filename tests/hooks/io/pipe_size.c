/*
 * F_SETPIPE_SZ under those who wait: more room lets a writer go on, poll sees it;
 * less room than is full is EBUSY, and what is there stays.
 */
#include "../calls.h"

static int p[2];
static char big[1 << 18];

static long put(void *n)
{
	return write(p[1], big, (size_t)(long)n);
}

static long get(void *arg)
{
	(void)arg;
	return read(p[0], big, 100);
}

static long watch(void *arg)
{
	struct pollfd f = { p[1], POLLOUT, 0 };

	(void)arg;
	return poll(&f, 1, 20000) == 1 ? f.revents : -1;
}

static void fill(void)
{
	CHECK(fcntl(p[1], F_SETFL, O_WRONLY | O_NONBLOCK) == 0);
	while (write(p[1], big, 4096) > 0)
		;
	CHECK(fcntl(p[1], F_SETFL, O_WRONLY) == 0);
}

int main(void)
{
	struct t_call w, o, r;

	t_pipe(p);
	CHECK(fcntl(p[1], F_SETPIPE_SZ, 8192) == 8192);
	fill();
	t_begin(&w, put, (void *)5000L);
	t_begin(&o, watch, NULL);
	t_waits(&w);
	t_waits(&o);
	T_RESULT("no smaller", fcntl(p[1], F_SETPIPE_SZ, 4096));
	T_RESULT("larger", fcntl(p[0], F_SETPIPE_SZ, 32768));
	t_ended("who writes", &w);
	t_ended("who polls", &o);
	fill();
	t_begin(&w, put, (void *)100000L);
	t_waits(&w);
	T_RESULT("larger by a part", fcntl(p[1], F_SETPIPE_SZ, 65536));
	t_waits(&w);
	T_RESULT("by all", fcntl(p[1], F_SETPIPE_SZ, 262144));
	t_ended("who writes", &w);
	t_close(p[0]);
	t_close(p[1]);
	t_pipe(p);
	t_begin(&r, get, NULL);
	t_waits(&r);
	T_RESULT("under a reader", fcntl(p[0], F_SETPIPE_SZ, 4096));
	t_waits(&r);
	t_put(p[1], 'x');
	t_ended("who reads", &r);
	t_say("%d", fcntl(p[0], F_GETPIPE_SZ));
	return 0;
}
