/*
 * Reads of terminals by more threads than hold a kernel thread each: lines and bytes, what
 * ends them, in which order, and modes that poll does not tell of.
 */
#include "terminal.h"
#include <sys/ioctl.h>

/* That many are waiting elsewhere, so that those to come are further ones. */
enum { OTHERS = 6, MOST = 4 };

struct reader {
	struct t_call c;
	int fd;
	size_t ask;
	char buf[64];
};

static long reads(void *arg)
{
	struct reader *r = arg;
	long n = read(r->fd, r->buf, r->ask);

	r->buf[n > 0 ? n : 0] = 0;
	return n;
}

static void begin(struct reader *r, int fd)
{
	r->fd = fd;
	r->ask = 10;
	t_begin(&r->c, reads, r);
}

static void ended(const char *what, struct reader *r)
{
	t_ended(what, &r->c);
	for (char *p = r->buf; *p; p++)
		if (*p == '\n')
			*p = '/';
	t_say("\t'%s'", r->buf);
}

static void lines(void)
{
	static struct reader r[MOST];

	canonical();
	begin(&r[0], s);
	feed("ab");
	t_waits(&r[0].c);
	feed("c\n");
	ended("a line", &r[0]);
	begin(&r[0], s);
	feed("\4");
	ended("end of file", &r[0]);
	feed("longer than ten\nnext\n");
	begin(&r[0], s);
	ended("a part of a line", &r[0]);
	begin(&r[0], s);
	ended("the rest", &r[0]);
	begin(&r[0], s);
	ended("the line behind it", &r[0]);
	for (int i = 0; i < MOST; i++)
		begin(&r[i], s);
	feed("1\n");
	ended("first", &r[0]);
	feed("2\n3\n4\n");
	for (int i = 1; i < MOST; i++)
		ended("then", &r[i]);
}

static void bytes(void)
{
	static struct reader r[2];

	mode(1, 0);
	begin(&r[0], s);
	t_waits(&r[0].c);
	feed("x");
	ended("one byte", &r[0]);
	begin(&r[0], s);
	begin(&r[1], s);
	feed("ab");
	ended("two", &r[0]);
	t_waits(&r[1].c);
	feed("cd");
	ended("and two for the other one", &r[1]);
	feed("more than ten");
	begin(&r[0], s);
	ended("ten", &r[0]);
	begin(&r[0], s);
	ended("the rest", &r[0]);
}

/* What poll does not tell of, or otherwise. */
static void odd(void)
{
	static struct reader r;
	long long start;

	mode(5, 0);
	r.fd = s;
	r.ask = 3;
	t_begin(&r.c, reads, &r);
	feed("abc");
	ended("three of five", &r);
	begin(&r, s);
	feed("ab");
	t_waits(&r.c);
	feed("cde");
	ended("five", &r);
	mode(0, 0);
	begin(&r, s);
	ended("none", &r);
	mode(0, 2);
	start = t_now();
	begin(&r, s);
	ended("none within 0.2 s", &r);
	CHECK(t_now() - start > 150 * T_MS);
	canonical();
	begin(&r, s);
	mode(1, 0);
	t_waits(&r.c);
	feed("z");
	ended("a line asked, a byte meanwhile", &r);
	begin(&r, s);
	canonical();
	feed("yes");
	t_waits(&r.c);
	feed("\n");
	ended("a byte asked, a line meanwhile", &r);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static struct reader r;

	mode(1, 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	begin(&r, s);
	CHECK(pthread_kill(r.c.th, SIGUSR1) == 0);
	ended("a handler", &r);
	sa.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	begin(&r, s);
	CHECK(pthread_kill(r.c.th, SIGUSR1) == 0);
	t_waits(&r.c);
	feed("x");
	ended("a handler with SA_RESTART", &r);
	begin(&r, s);
	CHECK(pthread_cancel(r.c.th) == 0);
	t_say("cancelled: %d", t_join(r.c.th) == PTHREAD_CANCELED);
	CHECK(fcntl(s, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	T_RESULT("without waiting", read(s, r.buf, 1));
	CHECK(fcntl(s, F_SETFL, O_RDWR) == 0);
}

/* Another process has the line before it. */
static void taken(void)
{
	static struct reader r;
	int go[2], status;
	pid_t pid;
	char b[8];

	canonical();
	t_pipe(go);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct pollfd p = { s, POLLIN, 0 };

		/* Who waits longer has the first one. */
		CHECK(read(go[0], b, 1) == 1);
		CHECK(poll(&p, 1, -1) == 1);
		_exit(read(s, b, sizeof(b)) == 2 ? 0 : 1);
	}
	begin(&r, s);
	t_put(go[1], 'x');
	t_pause();
	feed("1\n");
	feed("2\n");
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	t_result("one line each", t_end(&r.c));
	t_close(go[0]);
	t_close(go[1]);
}

static void closed(void)
{
	static struct reader r[3];
	int fd = dup(s);

	canonical();
	CHECK(fd >= 0);
	begin(&r[0], fd);
	t_close(fd);
	t_waits(&r[0].c);
	feed("on\n");
	ended("its number is closed", &r[0]);
	begin(&r[0], s);
	begin(&r[1], s);
	t_close(m);
	ended("the master is closed", &r[0]);
	ended("for both", &r[1]);
	begin(&r[2], s);
	ended("and after it", &r[2]);
	t_close(s);
}

/* Only who may is let: else it is no hang-up, and both are told so. */
static void hung_up(void)
{
	static struct reader r;

	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	canonical();
	begin(&r, s);
	if (ioctl(s, TIOCVHANGUP) == 0) {
		ended("a hang-up alone", &r);
	} else {
		t_say("no right to hang up");
		feed("\n");
		ended("a line", &r);
	}
}

int main(void)
{
	static struct reader others[OTHERS];
	int om[OTHERS], os[OTHERS];

	for (int i = 0; i < OTHERS; i++) {
		CHECK(openpty(&om[i], &os[i], NULL, NULL, NULL) == 0);
		begin(&others[i], os[i]);
	}
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	lines();
	bytes();
	odd();
	signals();
	taken();
	closed();
	hung_up();
	for (int i = 0; i < OTHERS; i++) {
		t_put(om[i], '\n');
		ended("one of the others", &others[i]);
	}
	return 0;
}
