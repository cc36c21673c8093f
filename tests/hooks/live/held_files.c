/*
 * Who waits for FIFOs, terminals, or by a large number, held.h.
 *
 * t-case: select
 * t-case: open_fifo
 * t-case: open_fifos
 * t-case: open_fifo_write
 * t-case: write_fifo
 * t-case: terminal
 * t-case: terminals
 */
#include "held.h"
#include <pty.h>

enum { FIFO_PART = 4096 };

static char big[3 * FIFO_PART];

/* --- many descriptors ------------------------------------------------------ */

static void setup_high(void)
{
	struct rlimit lim;
	int fd;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_cur < 2000)
		t_skip("no descriptors above 1024");
	t_pipe(in);
	fd = fcntl(in[0], F_DUPFD, 1500);
	CHECK(fd == 1500);
}

static long call_select(void)
{
	unsigned long set[32] = { 0 };
	int fd = 1500;

	set[fd / 64] |= 1ul << fd % 64;
	return select(fd + 1, (fd_set *)set, NULL, NULL, NULL);
}

static void feed_one(void)
{
	t_put(in[1], 'x');
}

/* --- FIFOs whose writer has not come --------------------------------------- */

static int fifos, here[N];

static void fifo_named(char path[PATH_MAX], int i)
{
	snprintf(path, PATH_MAX, "%s/fifo%d", getenv("T_TMP"), i);
}

static void setup_fifos(int n)
{
	char path[PATH_MAX];

	need_descriptors(2 * N + 100);
	fifos = n;
	learned = 1;
	for (int i = 0; i < n; i++) {
		fifo_named(path, i);
		CHECK(mkfifo(path, 0600) == 0);
	}
}

static void setup_fifo(void)
{
	setup_fifos(1);
}

static void setup_fifo_each(void)
{
	setup_fifos(N);
}

static long call_open(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST);
	char path[PATH_MAX], c;
	int fd;
	long r;

	fifo_named(path, i % fifos);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	r = read(fd, &c, 1);
	t_close(fd);
	return r;
}

/* Each writer comes when there is a reader, or before: as it may be. */
static void feed_fifos(void)
{
	char path[PATH_MAX];

	for (int i = 0; i < fifos; i++) {
		fifo_named(path, i);
		here[i] = open(path, O_WRONLY);
		CHECK(here[i] >= 0);
		t_write(here[i], big, N / (size_t)fifos);
	}
}

/* --- a FIFO whose reader has not come ----------------------------------------- */

static long call_open_write(void)
{
	char path[PATH_MAX];
	int fd;

	fifo_named(path, 0);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0);
	t_close(fd);
	return 1;
}

static void feed_reader(void)
{
	char path[PATH_MAX];

	fifo_named(path, 0);
	here[0] = open(path, O_RDONLY);
	CHECK(here[0] >= 0);
}

/* --- FIFOs that do not take all of a write ------------------------------------- */

static void setup_fifo_small(void)
{
	char path[PATH_MAX];

	need_descriptors(2 * N + 100);
	for (int i = 0; i < N; i++) {
		fifo_named(path, i);
		CHECK(mkfifo(path, 0600) == 0);
		here[i] = open(path, O_RDWR);
		CHECK(here[i] >= 0);
		CHECK(fcntl(here[i], F_SETPIPE_SZ, FIFO_PART) == FIFO_PART);
	}
}

static long call_write_fifo(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST);

	CHECK(write(here[i], big, 3 * FIFO_PART) == 3 * FIFO_PART);
	return 1;
}

static void feed_readers(void)
{
	static char b[3 * FIFO_PART];

	for (int i = 0; i < N; i++)
		t_read(here[i], b, sizeof(b));
}

/* --- terminals ----------------------------------------------------------------- */

static int ends[N][2], terminals;

static void setup_terminals(int n, int raw)
{
	struct termios t;

	need_descriptors(2 * N + 100);
	terminals = n;
	for (int i = 0; i < n; i++) {
		if (openpty(&ends[i][0], &ends[i][1], NULL, NULL, NULL))
			t_skip("not as many pseudo terminals");
		CHECK(tcgetattr(ends[i][1], &t) == 0);
		if (raw)
			cfmakeraw(&t);
		else
			t.c_lflag &= ~(tcflag_t)ECHO;
		CHECK(tcsetattr(ends[i][1], TCSANOW, &t) == 0);
	}
}

static void setup_terminal(void)
{
	setup_terminals(1, 0);
}

static void setup_terminal_each(void)
{
	setup_terminals(N, 1);
}

static long call_terminal(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST) % terminals;
	char b[8];

	return read(ends[i][1], b, sizeof(b));
}

static void feed_terminals(void)
{
	for (int i = 0; i < N; i++)
		t_write(ends[i % terminals][0], "x\n", 2);
}

static const struct wait waits[] = {
	{ "select", setup_high, call_select, feed_one, 0 },
	{ "open_fifo", setup_fifo, call_open, feed_fifos, 0 },
	{ "open_fifos", setup_fifo_each, call_open, feed_fifos, 0 },
	{ "open_fifo_write", setup_fifo, call_open_write, feed_reader, 0 },
	{ "write_fifo", setup_fifo_small, call_write_fifo, feed_readers, 0 },
	{ "terminal", setup_terminal, call_terminal, feed_terminals, 0 },
	{ "terminals", setup_terminal_each, call_terminal, feed_terminals, 0 },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	held(waits, T_LEN(waits), argv[1]);
	return 0;
}
