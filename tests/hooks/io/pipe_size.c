/*
 * F_SETPIPE_SZ under those who wait: more room lets a writer go on, poll sees it;
 * less room than is full is EBUSY, and what is there stays. Whatever the size is, the
 * first of those who wait to write looks, and is behind the others if there is no room.
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

static long put_name(void *name)
{
	return write(p[1], name, 1);
}

/* Three who wait, and @end is set to the size that it has, so many times. */
static void same_size(int end, int times)
{
	struct t_call c[3];
	char seen[4] = "";

	t_pipe(p);
	CHECK(fcntl(p[1], F_SETPIPE_SZ, 4096) == 4096);
	fill();
	for (int i = 0; i < 3; i++)
		t_begin(&c[i], put_name, &"abc"[i]);
	for (int i = 0; i < times; i++) {
		CHECK(fcntl(p[end], F_SETPIPE_SZ, 4096) == 4096);
		t_pause();
	}
	t_read(p[0], big, 4096);
	for (int i = 0; i < 3; i++)
		t_read(p[0], &seen[i], 1);
	for (int i = 0; i < 3; i++)
		CHECK(t_end(&c[i]) == 1);
	t_say("set %d times: %s", times, seen);
	t_close(p[0]);
	t_close(p[1]);
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
	t_close(p[0]);
	t_close(p[1]);
	for (int times = 0; times < 3; times++)
		same_size(times & 1, times);
	return 0;
}
