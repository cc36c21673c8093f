/*
 * Threads that wait in open() for the reader of a FIFO. One that comes lets all of them
 * go on, whether it stays or not, and sees the end of the file when the last of them has
 * closed it. Each has its number from when it waits; a signal or a cancel ends one alone.
 *
 * First more of them wait than there are workers, so that it is known that opens
 * wait. (live/held_files.c counts the kernel threads that are held after that.)
 */
#include "../calls.h"
#include <sched.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { FIRST = 20, SOME = 6, ROUNDS = 200 };

static char path[PATH_MAX], other[PATH_MAX];
static int handled;

struct how {
	const char *path;
	int flags;
};
static struct how plain = { path, O_WRONLY }, elsewhere = { other, O_WRONLY };

static long opens(void *arg)
{
	const struct how *h = arg;

	return open(h->path, h->flags, 0600);
}

static void begin(struct t_call *c, struct how *h)
{
	t_begin(c, opens, h);
	t_waits(c);
}

static long opened(const char *what, struct t_call *c)
{
	long fd = t_end(c);

	t_result(what, fd < 0 ? fd : 0);
	if (fd >= 0) {
		t_say("%s: mode %d, O_NONBLOCK %d, O_APPEND %d, FD_CLOEXEC %d",
		      what, fcntl((int)fd, F_GETFL) & O_ACCMODE,
		      !!(fcntl((int)fd, F_GETFL) & O_NONBLOCK),
		      !!(fcntl((int)fd, F_GETFL) & O_APPEND),
		      !!(fcntl((int)fd, F_GETFD) & FD_CLOEXEC));
	}
	return fd;
}

static int reader(const char *of)
{
	int fd = open(of, O_RDONLY | O_NONBLOCK);

	CHECK(fd >= 0);
	return fd;
}

static void begin_many(struct t_call *c, int n, struct how *h)
{
	for (int i = 0; i < n; i++) {
		c[i] = (struct t_call){ .fn = opens, .arg = h };
		CHECK(sem_init(&c[i].begun, 0, 0) == 0);
		c[i].th = t_thread(t_call_body, &c[i]);
	}
	for (int i = 0; i < n; i++)
		t_down(&c[i].begun);
	t_pause();
}

static void wait_first(void)
{
	static struct t_call c[FIRST];
	int fd;

	begin_many(c, FIRST, &plain);
	fd = reader(path);
	for (int i = 0; i < FIRST; i++)
		t_close((int)t_end(&c[i]));
	t_eof(fd);
	t_close(fd);
}

/* All of them write, before the reader sees the end. */
static void all_count(void)
{
	struct t_call c[SOME];
	int fd, out[SOME];

	begin_many(c, SOME, &plain);
	fd = reader(path);
	for (int i = 0; i < SOME; i++) {
		out[i] = (int)t_end(&c[i]);
		CHECK(out[i] >= 0);
		t_put(out[i], 'x');
		CHECK(t_get(fd) == 'x');
		t_close(out[i]);
		if (i < SOME - 1)
			CHECK_ERR(read(fd, out, 1), EAGAIN);
	}
	t_eof(fd);
	t_close(fd);
	t_say("%d writers", SOME);
}

static void comes_and_goes(void)
{
	struct t_call c[SOME];

	begin_many(c, SOME, &plain);
	t_close(reader(path));
	for (int i = 0; i < SOME; i++) {
		int fd = (int)t_end(&c[i]);

		CHECK(fd >= 0);
		CHECK_ERR(write(fd, "x", 1), EPIPE);
		t_close(fd);
	}
	t_say("a reader has come and gone");
}

static void flags(void)
{
	struct how closing = { path, O_WRONLY | O_CLOEXEC | O_APPEND },
		   making = { path, O_WRONLY | O_CREAT | O_TRUNC };
	struct t_call c, d, e;
	int fd;

	begin(&c, &plain);
	begin(&d, &closing);
	begin(&e, &making);
	fd = reader(path);
	t_close((int)opened("plain", &c));
	t_close((int)opened("O_CLOEXEC, O_APPEND", &d));
	t_close((int)opened("O_CREAT, O_TRUNC", &e));
	t_begin(&c, opens, &making);
	t_close((int)opened("a reader is there", &c));
	t_close(fd);
}

static void two_files(void)
{
	struct t_call c, d, e;
	int fd;

	begin(&c, &plain);
	begin(&d, &elsewhere);
	begin(&e, &elsewhere);
	fd = reader(path);
	t_close((int)opened("one FIFO", &c));
	t_waits(&d);
	t_waits(&e);
	t_close(fd);
	fd = reader(other);
	t_close((int)opened("the other, first", &d));
	t_close((int)opened("the other, second", &e));
	t_close(fd);
}

/* Of who waits behind another one. */
static void its_number(void)
{
	int low, high = dup(0), fd;
	struct t_call c, d;

	begin(&c, &plain);
	low = dup(0);
	t_close(low);
	begin(&d, &plain);
	T_RESULT("read from it", read(low, &low, 1));
	T_RESULT("close it", close(low));
	T_RESULT("dup2 onto it", dup2(high, low));
	fd = reader(path);
	t_close((int)t_end(&c));
	CHECK(opened("its number", &d) == low);
	t_close(low);
	t_close(fd);
	t_close(high);
}

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void send_to(struct t_call *c)
{
	int was = handled;

	CHECK_0(pthread_kill(c->th, SIGUSR1));
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == was)
		sched_yield();
}

/* The first, who may be who waits for all, or the last. */
static void interrupted(bool first)
{
	struct t_call c[3];
	int fd, which = first ? 0 : 2;

	t_handle(SIGUSR1, on_usr1, 0);
	for (int i = 0; i < 3; i++)
		begin(&c[i], &plain);
	send_to(&c[which]);
	opened("interrupted", &c[which]);
	for (int i = 0; i < 3; i++)
		if (i != which)
			t_waits(&c[i]);
	fd = reader(path);
	for (int i = 0; i < 3; i++)
		if (i != which)
			t_close((int)opened("not interrupted", &c[i]));
	t_close(fd);
}

static void restarted(void)
{
	struct t_call c[3];
	int fd;

	t_handle(SIGUSR1, on_usr1, SA_RESTART);
	for (int i = 0; i < 3; i++)
		begin(&c[i], &plain);
	for (int i = 0; i < 3; i++)
		send_to(&c[i]);
	for (int i = 0; i < 3; i++)
		t_waits(&c[i]);
	fd = reader(path);
	for (int i = 0; i < 3; i++)
		t_close((int)opened("SA_RESTART", &c[i]));
	t_close(fd);
}

static void *opens_for_good(void *arg)
{
	sem_post(arg);
	open(path, O_WRONLY);
	return NULL;
}

static void cancel(pthread_t *th, int n)
{
	void *r;

	for (int i = 0; i < n; i++) {
		CHECK_0(pthread_cancel(th[i]));
		CHECK_0(pthread_join(th[i], &r));
		CHECK(r == PTHREAD_CANCELED);
	}
}

static void begin_for_good(pthread_t *th, int n)
{
	sem_t begun;

	CHECK(sem_init(&begun, 0, 0) == 0);
	for (int i = 0; i < n; i++) {
		th[i] = t_thread(opens_for_good, &begun);
		CHECK(sem_wait(&begun) == 0);
		t_pause();
	}
}

static void cancelled(void)
{
	pthread_t before[2], behind[3];
	struct t_call c;
	int low, fd;

	begin_for_good(before, 2);
	begin(&c, &plain);
	cancel(before, 2);
	t_waits(&c);
	low = dup(0);
	t_close(low);
	begin_for_good(behind, 3);
	cancel(behind, 3);
	CHECK(dup(0) == low);
	t_close(low);
	t_waits(&c);
	fd = reader(path);
	t_close((int)opened("others were cancelled", &c));
	t_close(fd);
}

static void by_child(void)
{
	struct t_call c[SOME];
	int status;
	pid_t pid;
	char b[64];

	begin_many(c, SOME, &plain);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		int fd = open(path, O_RDONLY);
		long n, all = 0;

		while ((n = read(fd, b, sizeof(b))) > 0)
			all += n;
		_exit(n < 0 ? 99 : (int)all);
	}
	for (int i = 0; i < SOME; i++) {
		int fd = (int)t_end(&c[i]);

		CHECK(fd >= 0);
		t_put(fd, 'x');
		t_close(fd);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == SOME);
	t_say("another process has read all");
}

/* --- many ------------------------------------------------------------------------ */

static void *writes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(path, O_WRONLY);

		CHECK(fd >= 0);
		if (write(fd, "12345678", 8) == 8)
			*(long *)arg += 8;
		else
			CHECK(errno == EPIPE);
		t_close(fd);
	}
	return arg;
}

static void storm(void)
{
	long sent[4] = { 0 }, got = 0, all = 0;
	pthread_t th[4];
	int done = 0;

	for (int i = 0; i < 4; i++)
		th[i] = t_thread(writes, &sent[i]);
	while (done < 4) {
		int fd = reader(path);
		char b[64];
		long n;

		while ((n = read(fd, b, sizeof(b))) != 0) {
			CHECK(n > 0 || errno == EAGAIN);
			got += n > 0 ? n : 0;
			if (n < 0)
				sched_yield();
		}
		t_close(fd);
		while (done < 4 && !pthread_tryjoin_np(th[done], NULL))
			done++;
	}
	for (int i = 0; i < 4; i++)
		all += sent[i];
	/* The reader may go before it has read what was written. */
	CHECK(got <= all);
	t_say("%d opens each", ROUNDS);
}

int main(void)
{
	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	snprintf(other, sizeof(other), "%s/other", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	CHECK(mkfifo(other, 0600) == 0);
	t_handle(SIGPIPE, SIG_IGN, 0);
	wait_first();
	all_count();
	comes_and_goes();
	flags();
	two_files();
	its_number();
	interrupted(true);
	interrupted(false);
	restarted();
	cancelled();
	by_child();
	storm();
	return 0;
}
