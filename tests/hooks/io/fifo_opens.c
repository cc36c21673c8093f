/*
 * Threads that wait in open() for the writer of a FIFO. Each of them counts as a
 * reader and has its number; it goes on when there is a writer, or has been one; a
 * signal or a cancel ends it, and then it counts no more.
 *
 * First more of them wait than there are workers, so that it is known that opens
 * wait. (live/held_files.c counts the kernel threads that are held after that.)
 */
#include "../calls.h"
#include <sched.h>
#include <sys/wait.h>

enum { FIRST = 20, STORM = 300 };

static char path[PATH_MAX], other[PATH_MAX], sym[PATH_MAX], file[PATH_MAX];
static int handled;

struct how {
	const char *path;
	int flags;
	int raw;
};
static struct how plain = { path, O_RDONLY, 0 };

static long opens(void *arg)
{
	const struct how *h = arg;

	if (h->raw)
		return syscall(SYS_open, h->path, h->flags, 0);
	return open(h->path, h->flags);
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
		t_say("%s: O_NONBLOCK %d, FD_CLOEXEC %d", what,
		      !!(fcntl((int)fd, F_GETFL) & O_NONBLOCK),
		      !!(fcntl((int)fd, F_GETFD) & FD_CLOEXEC));
	}
	return fd;
}

static int writer(const char *what)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK);

	t_result(what, fd < 0 ? -errno : 0);
	return fd;
}

static void no_reader(void)
{
	CHECK_ERR(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
}

/* What reads see, from the first one to the end. */
static void read_all(const char *what, int fd)
{
	char b[16];
	long n;

	do {
		n = read(fd, b, sizeof(b));
		t_result(what, n < 0 ? -errno : n);
	} while (n > 0);
	t_close(fd);
}

static void begin_first(struct t_call c[FIRST], struct how *h)
{
	for (int i = 0; i < FIRST; i++) {
		c[i] = (struct t_call){ .fn = opens, .arg = h };
		CHECK(sem_init(&c[i].begun, 0, 0) == 0);
		c[i].th = t_thread(t_call_body, &c[i]);
	}
	for (int i = 0; i < FIRST; i++)
		t_down(&c[i].begun);
	t_pause();
}

static void wait_first(void)
{
	static struct t_call c[FIRST];
	int fd;

	begin_first(c, &plain);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	for (int i = 0; i < FIRST; i++)
		t_close((int)t_end(&c[i]));
	t_close(fd);
	no_reader();
}

static void served(void)
{
	struct how closing = { path, O_RDONLY | O_CLOEXEC, 0 };
	struct how raw = { path, O_RDONLY, 1 }, link = { sym, O_RDONLY, 0 };
	struct t_call c, d;
	int w, r, fd;

	begin(&c, &plain);
	w = writer("a reader waits");
	r = (int)opened("a writer has come", &c);
	t_begin(&d, opens, &plain);
	t_close((int)opened("a writer is there", &d));
	t_put(w, 'x');
	t_close(w);
	read_all("what it has written", r);
	no_reader();

	begin(&c, &closing);
	t_close(writer("and goes at once"));
	read_all("nothing", (int)opened("O_CLOEXEC", &c));

	begin(&c, &raw);
	w = writer("it writes and goes");
	t_write(w, "123", 3);
	t_close(w);
	read_all("three", (int)opened("by open()", &c));

	begin(&c, &link);
	begin(&d, &plain);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	t_waits(&c);
	t_waits(&d);
	w = writer("readers wait, and one does not");
	t_close((int)opened("by a link", &c));
	t_close((int)opened("by its name", &d));
	t_close(fd);
	t_close(w);
	no_reader();

	begin(&c, &plain);
	fd = open(path, O_RDWR);
	r = (int)opened("one that reads and writes", &c);
	t_put(fd, 'x');
	CHECK(t_get(r) == 'x');
	t_close(fd);
	read_all("then the end", r);
}

static void refused(void)
{
	struct how dir = { path, O_RDONLY | O_DIRECTORY, 0 };
	struct how link = { sym, O_RDONLY | O_NOFOLLOW, 0 };
	struct how none = { other, O_RDONLY, 0 }, plainly = { file, O_RDONLY, 0 };

	T_RESULT("O_DIRECTORY", opens(&dir));
	T_RESULT("O_NOFOLLOW", opens(&link));
	T_RESULT("no such file", opens(&none));
	T_RESULT("no such address", open((char *)1, O_RDONLY));
	CHECK(opens(&plainly) >= 0);
}

/* --- the number ------------------------------------------------------------- */

static void its_number(void)
{
	int low = dup(0), high = dup(0), w;
	struct t_call c;

	t_close(low);
	begin(&c, &plain);
	T_RESULT("close it", close(low));
	T_RESULT("dup2 onto it", dup2(high, low));
	T_RESULT("dup it", dup(low));
	CHECK(dup(high) == high + 1);
	t_close(high + 1);
	w = writer("numbers");
	CHECK(opened("the lowest", &c) == low);
	t_close(low);
	t_close(w);
	t_close(high);
}

/* A child that lives on has not what its parent is about to have. */
static void forked(void)
{
	int p[2], r, w;
	struct t_call c;
	pid_t pid;

	t_pipe(p);
	begin(&c, &plain);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		char b;

		close(p[1]);
		_exit(read(p[0], &b, 1) != 0);
	}
	w = writer("after a fork");
	r = (int)opened("after a fork", &c);
	t_close(r);
	T_RESULT("the child does not read", write(w, "x", 1));
	t_close(w);
	t_close(p[0]);
	t_close(p[1]);
	CHECK(waitpid(pid, &r, 0) == pid && r == 0);
}

static int lowest(void *arg)
{
	(void)arg;
	return dup(0);
}

/* Nor has a child anything else that it should not have, whatever stack it has. */
static void numbers_of_children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(dup(0));
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	t_say("a fork's lowest number: %d", WEXITSTATUS(status));
	pid = clone(lowest, stack + sizeof(stack), SIGCHLD, NULL);
	CHECK(pid >= 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	t_say("a clone's: %d", WEXITSTATUS(status));
}

static void by_child(void)
{
	struct t_call c;
	int status;
	pid_t pid;

	begin(&c, &plain);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		int fd = open(path, O_WRONLY);

		_exit(fd < 0 || write(fd, "child", 5) != 5);
	}
	read_all("of another process", (int)opened("another process", &c));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* --- signals, cancels ---------------------------------------------------------- */

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void interrupted(int flags)
{
	struct t_call c;
	int was = handled;

	t_handle(SIGUSR1, on_usr1, flags);
	begin(&c, &plain);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == was)
		sched_yield();
	if (flags & SA_RESTART) {
		t_waits(&c);
		t_close(writer("SA_RESTART"));
		t_close((int)opened("SA_RESTART", &c));
	} else {
		opened("interrupted", &c);
	}
	no_reader();
}

static void stopped(void)
{
	struct t_call c;
	pid_t pid, self = getpid();
	int status;

	begin(&c, &plain);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(kill(self, SIGSTOP) == 0);
		t_settle();
		CHECK(kill(self, SIGCONT) == 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	t_waits(&c);
	t_close(writer("stopped"));
	t_close((int)opened("stopped", &c));
}

static void *opens_for_good(void *arg)
{
	sem_post(arg);
	open(path, O_RDONLY);
	return NULL;
}

static void cancelled(void)
{
	int low = dup(0);
	pthread_t th;
	sem_t begun;
	void *r;

	t_close(low);
	CHECK(sem_init(&begun, 0, 0) == 0);
	th = t_thread(opens_for_good, &begun);
	CHECK(sem_wait(&begun) == 0);
	t_pause();
	CHECK_0(pthread_cancel(th));
	CHECK_0(pthread_join(th, &r));
	CHECK(r == PTHREAD_CANCELED);
	no_reader();
	CHECK(dup(0) == low);
	t_close(low);
	t_say("cancelled");
}

/* --- many ------------------------------------------------------------------------ */

static void *reader(void *arg)
{
	for (int i = 0; i < STORM; i++) {
		char b[8];
		int fd = open(path, O_RDONLY);
		long n;

		CHECK(fd >= 0);
		while ((n = read(fd, b, sizeof(b))) > 0)
			*(long *)arg += n;
		CHECK(n == 0);
		t_close(fd);
	}
	return arg;
}

/* Whoever reads, reads whole messages of one or more writers. */
static void storm(void)
{
	long got[4] = { 0 }, sent = 0, all = 0;
	pthread_t th[4];
	int done = 0;

	t_handle(SIGPIPE, SIG_IGN, 0);
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(reader, &got[i]);
	while (done < 4) {
		int fd = open(path, O_WRONLY | O_NONBLOCK);

		if (fd >= 0) {
			long n = write(fd, "12345678", 8);

			sent += n > 0 ? n : 0;
			t_close(fd);
		}
		while (done < 4 && !pthread_tryjoin_np(th[done], NULL))
			done++;
		sched_yield();
	}
	for (int i = 0; i < 4; i++)
		all += got[i];
	/* The last reader may go before it has read what was written. */
	CHECK(all <= sent);
	t_say("%d opens each", STORM);
}

/* A FIFO cannot be opened for packets: open() says so when it has waited. */
static void direct(const char *what, int mode)
{
	struct how h = { path, mode | O_DIRECT, 0 };
	struct t_call c[FIRST];
	int fd;

	begin_first(c, &h);
	for (int i = 0; i < FIRST; i++)
		CHECK(!atomic_load(&c[i].ended));
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	for (int i = 0; i < FIRST; i++)
		CHECK(t_end(&c[i]) == -EINVAL);
	t_close(fd);
	t_say("O_DIRECT, %s: EINVAL", what);
}

int main(void)
{
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	snprintf(sym, sizeof(sym), "%s/link", getenv("T_TMP"));
	snprintf(other, sizeof(other), "%s/none", getenv("T_TMP"));
	snprintf(file, sizeof(file), "%s/file", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	CHECK(symlink(path, sym) == 0);
	fd = open(file, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	t_close(fd);
	t_handle(SIGPIPE, SIG_IGN, 0);
	wait_first();
	served();
	its_number();
	refused();
	forked();
	numbers_of_children();
	by_child();
	interrupted(0);
	interrupted(SA_RESTART);
	stopped();
	cancelled();
	direct("to read", O_RDONLY);
	direct("to write", O_WRONLY);
	storm();
	return 0;
}
