/*
 * Another thread sets the policy of one that waits: natively it is not even
 * interrupted. It keeps its place among those that wait, and what it has got so far
 * counts as it would have.
 *
 * t-case: pipe
 * t-case: fifo
 * t-case: fifo_reader
 * t-case: tty
 * t-chaos-but no_watch: who is served first waits in fibers, not in poll
 */
#include "../calls.h"
#include <pty.h>
#include <sched.h>
#include <termios.h>

#define N 4

static int at, served[N], nserved;
static _Atomic int tid[N];
static char buf[16];

static void set_policy(int i)
{
	struct sched_param none = { 0 };

	CHECK(sched_setscheduler(tid[i], SCHED_BATCH, &none) == 0);
	t_pause();
}

static long take(void *arg)
{
	int me = (int)(intptr_t)arg;
	char c;
	long r;

	tid[me] = gettid();
	r = read(at, &c, 1);
	served[__atomic_fetch_add(&nserved, 1, __ATOMIC_SEQ_CST)] = me;
	return r;
}

static void in_order(const char *what, int feed)
{
	struct t_call call[N];
	char text[N + 1] = "";

	for (long i = 0; i < N; i++)
		t_begin(&call[i], take, (void *)i);
	set_policy(0);
	set_policy(2);
	for (int i = 1; i <= N; i++) {
		t_put(feed, 'x');
		while (__atomic_load_n(&nserved, __ATOMIC_SEQ_CST) < i)
			t_settle();
		t_pause();
	}
	for (int i = 0; i < N; i++) {
		CHECK(t_end(&call[i]) == 1);
		text[i] = (char)('0' + served[i]);
	}
	t_say("%s: %s", what, text);
}

static int fifo(int how)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0 || errno == EEXIST);
	fd = open(path, how);
	CHECK(fd >= 0);
	return fd;
}

static long read_tty(void *arg)
{
	(void)arg;
	tid[0] = gettid();
	return read(at, buf, sizeof(buf));
}

/* Five at least: when the sixth comes with the fifth, it is read as well. */
static void tty(void)
{
	struct termios t;
	struct t_call c;
	int m;

	CHECK(openpty(&m, &at, NULL, NULL, NULL) == 0);
	CHECK(tcgetattr(at, &t) == 0);
	cfmakeraw(&t);
	t.c_cc[VMIN] = 5;
	t.c_cc[VTIME] = 0;
	CHECK(tcsetattr(at, TCSANOW, &t) == 0);
	t_begin(&c, read_tty, NULL);
	t_write(m, "ab", 2);
	t_pause();
	set_policy(0);
	t_write(m, "cd", 2);
	t_waits(&c);
	t_write(m, "ef", 2);
	t_ended("terminal", &c);
	t_say("%.6s", buf);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int p[2];

	if (!strcmp(how, "tty")) {
		tty();
	} else if (!strcmp(how, "fifo")) {
		at = fifo(O_RDWR);
		in_order("fifo", at);
	} else if (!strcmp(how, "fifo_reader")) {
		at = fifo(O_RDONLY | O_NONBLOCK);
		p[1] = fifo(O_WRONLY);
		CHECK(fcntl(at, F_SETFL, 0) == 0);
		in_order("fifo", p[1]);
	} else {
		t_pipe(p);
		at = p[0];
		in_order("pipe", p[1]);
	}
	return 0;
}
