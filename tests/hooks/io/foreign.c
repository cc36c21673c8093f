/*
 * Another process changes O_NONBLOCK and time limits of a description that both
 * have, and this one does, through other numbers of it.
 *
 * t-case: pipe
 * t-case: pair
 * t-case: tcp
 * t-chaos-but no_watch: the monitor asks about those who wait in fibers
 */
#include <stdbool.h>
#include "tasks.h"
#include "t.h"

static int rd, wr, ask[2], told[2];
static bool hooked;
static pid_t other_pid;

static long long held_up(void)
{
	char pid[16];

	if (!other_pid)
		return t_held_up("self");
	snprintf(pid, sizeof(pid), "%d", (int)other_pid);
	return t_held_up("self") + t_held_up(pid);
}

/* Since it was @before; a thread may have ended. */
static long long held_up_since(long long before)
{
	long long now = held_up();

	return now > before ? now - before : 0;
}

/* --- the other process ------------------------------------------------------ */

static void flags(int fd, int on)
{
	CHECK(fcntl(fd, F_SETFL, on ? O_NONBLOCK : 0) == 0);
}

static void limit(int fd, long ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
}

/* By itself, while nobody calls it: first the flag, and later a byte. */
static void change_later(void)
{
	struct timespec ts = { 0, 300 * T_MS };

	nanosleep(&ts, NULL);
	flags(rd, 1);
	nanosleep(&ts, NULL);
	t_put(wr, 'y');
}

static void other(void)
{
	char c;

	while (read(ask[0], &c, 1) == 1) {
		switch (c) {
		case 'n':
			flags(rd, 1);
			break;
		case 'b':
			flags(rd, 0);
			break;
		case 't':
			limit(rd, 60);
			break;
		case 'f':
			limit(rd, 0);
			break;
		}
		t_put(told[1], c);
		if (c == 'l')
			change_later();
	}
	_exit(0);
}

static void tell(char c)
{
	t_put(ask[1], c);
	CHECK(t_get(told[0]) == c);
}

/* --- this one ------------------------------------------------------------------ */

static void *byte_soon(void *arg)
{
	t_settle();
	t_put(wr, 'x');
	return arg;
}

/* It waits, and gets what comes. */
static void waits(int fd)
{
	pthread_t th = t_thread(byte_soon, NULL);

	CHECK(t_get(fd) == 'x');
	t_join(th);
}

/* How much later than it should it has failed, but for what others have used. */
static long long fails(int fd, long long after_ns)
{
	long long held = held_up(), start = t_now(), end;
	char c;

	CHECK_ERR(read(fd, &c, 1), EAGAIN);
	end = t_now();
	CHECK(end - start >= after_ns);
	return end - start - after_ns - held_up_since(held);
}

/* The best of several tries is what counts. */
static void least(long long *best, long long ns)
{
	if (ns < *best)
		*best = ns;
}

static long long began;

static void *begun(void *arg)
{
	char c;
	ssize_t r;

	began = t_now();
	r = read(rd, &c, 1);
	CHECK(r == 1 || (r < 0 && errno == EAGAIN));
	*(long long *)arg = t_now();
	return (void *)(intptr_t)(r == 1 && c == 'y');
}

/*
 * A wait that has begun: natively it goes on, here it ends. What is asked for is
 * one of several tries within 10 ms, but for the time that others have used.
 */
static void in_a_wait(char change, char back, long long at_least)
{
	long long best = T_SEC, ended = 0;

	for (int i = 0; i < 5; i++) {
		pthread_t th = t_thread(begun, &ended);
		long long start = t_now(), held;
		struct timespec ts = { 0, 30 * T_MS }; /* a wait of some age */

		nanosleep(&ts, NULL);
		held = held_up();
		if (at_least == 0)
			start = t_now();
		tell(change);
		if (!hooked) {
			t_put(wr, 'y');
			CHECK(t_join(th) != NULL);
		} else {
			CHECK(t_join(th) == NULL);
			/* It may have begun before its creator went on. */
			CHECK(ended - began >= at_least);
			least(&best, ended - start - held_up_since(held));
		}
		tell(back);
	}
	CHECK(!hooked || best <= at_least + 10 * T_MS);
	t_say("in a wait");
}

/* What is known through one number must be known through each. */
static void own_numbers(int early)
{
	int late = dup(rd), numbers[3] = { rd, early, late };
	long long best = T_SEC;

	for (int i = 0; i < 27; i++) {
		int by = numbers[i / 9], fd = numbers[i % 3];

		waits(fd);
		flags(by, 1);
		least(&best, fails(fd, 0));
		flags(numbers[(i + 1) % 3], 0);
	}
	CHECK(best < 3 * T_MS);
	t_close(late);
	t_say("own numbers");
}

/*
 * What this process does itself is for the calls that begin after it. One that came
 * late has left the byte: then once more.
 */
static void own_wait(void)
{
	struct timespec ts = { 0, 25 * T_MS }; /* looked after by then */
	bool waited = false;

	for (int i = 0; i < 30 && !waited; i++) {
		long long ended;
		pthread_t th = t_thread(begun, &ended);

		t_settle();
		flags(rd, 1);
		nanosleep(&ts, NULL);
		t_put(wr, 'y');
		waited = t_join(th) != NULL;
		flags(rd, 0);
		CHECK(waited || t_get(rd) == 'y');
	}
	CHECK(waited);
	t_say("own wait");
}

/*
 * A wait that begins when its thread has worked for a while, and all else has slept
 * for so long that the library has as well.
 */
static void after_work(void)
{
	long long start;
	ssize_t r;
	char c = 0;

	tell('l');
	for (start = t_now(); t_now() - start < 150 * T_MS;)
		;
	r = read(rd, &c, 1);
	if (hooked)
		CHECK(r < 0 && errno == EAGAIN);
	else
		CHECK(r == 1 && c == 'y');
	tell('b');
	if (hooked)
		CHECK(t_get(rd) == 'y');
	t_say("after work");
}

static void make(const char *kind)
{
	int p[2];

	if (!strcmp(kind, "pipe"))
		t_pipe(p);
	else if (!strcmp(kind, "pair"))
		t_pair(p);
	else
		t_tcp_pair(p);
	rd = p[0];
	wr = p[1];
}

int main(int argc, char **argv)
{
	bool is_pipe = argc == 2 && !strcmp(argv[1], "pipe");
	long long flag = T_SEC, limited = T_SEC;
	int early;
	pid_t pid;

	hooked = getenv("LD_PRELOAD") != NULL;
	CHECK(argc == 2);
	make(argv[1]);
	early = dup(rd);
	t_pipe(ask);
	t_pipe(told);
	t_be_threaded();
	own_numbers(early);
	own_wait();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(ask[1]);
		other();
	}
	other_pid = pid;
	for (int i = 0; i < 5; i++) {
		waits(rd);
		tell('n');
		least(&flag, fails(rd, 0));
		fails(early, 0);
		tell('b');
		waits(early);
		if (is_pipe)
			continue;
		tell('t');
		least(&limited, fails(rd, 60 * T_MS));
		tell('f');
	}
	CHECK(flag <= 10 * T_MS && (is_pipe || limited <= 10 * T_MS));
	t_say("between waits");
	in_a_wait('n', 'b', 0);
	if (!is_pipe)
		in_a_wait('t', 'f', 60 * T_MS);
	after_work();
	t_close(ask[1]);
	t_wait_ok(pid);
	return 0;
}
