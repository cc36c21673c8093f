/*
 * Writes to a FIFO of more than it takes at once: what is in it while they wait, what
 * ends them, and that they stay with their file. Many wait, each at a FIFO of its own,
 * without a kernel thread each.
 */
#include "../calls.h"
#include <sched.h>
#include <sys/ioctl.h>

enum { SIZE = 65536, MUCH = 100000, MANY = 40, LEFT = 200000 };

static char path[PATH_MAX];
static unsigned char data[LEFT], got[LEFT];
static atomic_int handled;

struct how {
	int fd;
	const void *from;
	size_t len;
};

static long writes(void *arg)
{
	const struct how *h = arg;

	return write(h->fd, h->from, h->len);
}

static void make(int end[2])
{
	CHECK(mkfifo(path, 0600) == 0);
	end[0] = open(path, O_RDONLY | O_NONBLOCK);
	end[1] = open(path, O_WRONLY);
	CHECK(end[0] >= 0 && end[1] >= 0);
	CHECK(fcntl(end[0], F_SETFL, 0) == 0);
	CHECK(unlink(path) == 0);
}

static void unmake(int end[2])
{
	t_close(end[1]);
	t_eof(end[0]);
	t_close(end[0]);
}

static struct how much;

/* A write of @len bytes that waits. */
static void begin(struct t_call *c, int fd, size_t len)
{
	much = (struct how){ fd, data, len };
	t_begin(c, writes, &much);
	t_waits(c);
}

static void inside(const char *what, int fd)
{
	int n = -1;

	CHECK(ioctl(fd, FIONREAD, &n) == 0);
	t_say("%s: %d inside", what, n);
}

static void all_comes(const char *what, int fd, size_t from, size_t len)
{
	t_read(fd, got, len);
	CHECK(memcmp(got, data + from, len) == 0);
	t_say("%s: it all comes", what);
}

/* What is there before is @first bytes. */
static void behind(size_t first, size_t len)
{
	struct t_call c;
	char what[64];
	int end[2];

	snprintf(what, sizeof(what), "%zu behind %zu", len, first);
	make(end);
	if (first)
		t_write(end[1], data, first);
	begin(&c, end[1], len);
	inside(what, end[0]);
	t_read(end[0], got, first);
	all_comes(what, end[0], 0, len);
	t_ended(what, &c);
	unmake(end);
}

static void fits(void)
{
	int end[2];

	make(end);
	t_put(end[1], 'x');
	T_RESULT("what fits behind one byte",
		 write(end[1], data, 15 * PIPE_BUF + 100));
	t_read(end[0], got, 1);
	all_comes("what fits", end[0], 0, 15 * PIPE_BUF + 100);
	T_RESULT("as much as it takes", write(end[1], data, SIZE));
	all_comes("as much as it takes", end[0], 0, SIZE);
	unmake(end);
}

static void vectors(void)
{
	struct iovec v[3] = { { data, 30000 },
			      { data + 30000, 1 },
			      { data + 30001, MUCH - 30001 } };
	int end[2], n;

	make(end);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			t_close(end[1]);
			t_read(end[0], got, MUCH);
			_exit(memcmp(got, data, MUCH) != 0);
		}
		t_result("vector", writev(end[1], v, 3));
		t_wait_ok(pid);
	}
	v[2].iov_len = (size_t)-1;
	T_RESULT("vector that is wrong", writev(end[1], v, 3));
	CHECK(ioctl(end[0], FIONREAD, &n) == 0);
	t_say("%d written", n);
	unmake(end);
}

static void on_signal(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

static void send_to(struct t_call *c)
{
	int was = atomic_load(&handled);

	CHECK_0(pthread_kill(c->th, SIGUSR1));
	while (atomic_load(&handled) == was)
		sched_yield();
}

static void interrupted(const char *what, int flags)
{
	struct t_call c;
	int end[2];

	t_handle(SIGUSR1, on_signal, flags);
	make(end);
	begin(&c, end[1], MUCH);
	send_to(&c);
	t_ended(what, &c);
	begin(&c, end[1], MUCH);
	send_to(&c);
	if (flags) {
		t_waits(&c);
		all_comes(what, end[0], 0, SIZE);
		all_comes(what, end[0], 0, MUCH);
	}
	t_ended(what, &c);
	if (!flags)
		all_comes(what, end[0], 0, SIZE);
	unmake(end);
}

static void reader_goes(void)
{
	struct t_call c;
	int end[2];

	make(end);
	t_handle(SIGPIPE, on_signal, 0);
	atomic_store(&handled, 0);
	begin(&c, end[1], MUCH);
	t_close(end[0]);
	t_ended("the reader goes", &c);
	t_say("SIGPIPE: %d", atomic_load(&handled));
	T_RESULT("nobody reads", write(end[1], data, MUCH));
	t_say("SIGPIPE: %d", atomic_load(&handled));
	t_close(end[1]);
}

static void nonblock(void)
{
	struct t_call c;
	int end[2];

	make(end);
	begin(&c, end[1], MUCH);
	CHECK(fcntl(end[1], F_SETFL, O_NONBLOCK) == 0);
	all_comes("O_NONBLOCK meanwhile", end[0], 0, 2 * PIPE_BUF);
	t_ended("O_NONBLOCK meanwhile", &c);
	inside("O_NONBLOCK meanwhile", end[0]);
	T_RESULT("O_NONBLOCK, full", write(end[1], data, MUCH));
	t_read(end[0], got, SIZE);
	T_RESULT("O_NONBLOCK, empty", write(end[1], data, MUCH));
	t_read(end[0], got, SIZE);
	unmake(end);
}

static void grows(void)
{
	struct t_call c;
	int end[2];

	make(end);
	begin(&c, end[1], MUCH);
	CHECK(fcntl(end[0], F_SETPIPE_SZ, 2 * SIZE) == 2 * SIZE);
	t_ended("it grows", &c);
	all_comes("it grows", end[0], 0, MUCH);
	unmake(end);
}

static void bad_memory(void)
{
	size_t ok = 17 * PIPE_BUF;
	char *m = mmap(NULL, LEFT, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct t_call c;
	int end[2];

	CHECK(m != MAP_FAILED);
	memcpy(m, data, ok);
	CHECK(mprotect(m + ok, PIPE_BUF, PROT_NONE) == 0);
	make(end);
	much = (struct how){ end[1], m, MUCH };
	t_begin(&c, writes, &much);
	t_waits(&c);
	all_comes("memory that is not there", end[0], 0, ok);
	t_ended("memory that is not there", &c);
	unmake(end);
	CHECK(munmap(m, LEFT) == 0);
}

static void closed(int by_dup2)
{
	const char *what = by_dup2 ? "dup2 onto it" : "closed meanwhile";
	struct t_call c;
	int end[2], other[2];

	make(end);
	t_pipe(other);
	begin(&c, end[1], MUCH);
	if (by_dup2)
		CHECK(dup2(other[1], end[1]) == end[1]);
	else
		t_close(end[1]);
	t_close(other[1]);
	t_waits(&c);
	all_comes(what, end[0], 0, MUCH);
	t_ended(what, &c);
	t_eof(end[0]);
	if (by_dup2)
		t_close(end[1]);
	t_eof(other[0]);
	t_close(other[0]);
	t_close(end[0]);
}

static void *writes_for_good(void *arg)
{
	write(*(int *)arg, data, MUCH);
	return NULL;
}

static void cancelled(void)
{
	pthread_t th;
	int end[2];
	void *r;

	make(end);
	t_write(end[1], data, SIZE);
	th = t_thread(writes_for_good, &end[1]);
	t_pause();
	CHECK_0(pthread_cancel(th));
	CHECK_0(pthread_join(th, &r));
	CHECK(r == PTHREAD_CANCELED);
	all_comes("a cancel", end[0], 0, SIZE);
	unmake(end);
}

/* --- many ------------------------------------------------------------------------ */

static void *writes_bytes(void *arg)
{
	const struct how *h = arg;

	CHECK(write(h->fd, h->from, h->len) == (ssize_t)h->len);
	return NULL;
}

/* By numbers of its own each, and by one. */
static void one_fifo(int dups)
{
	static unsigned char of[4][LEFT];
	size_t n[4] = { 0 }, all = 0;
	struct how h[4];
	pthread_t th[4];
	int end[2];

	make(end);
	for (int i = 0; i < 4; i++) {
		memset(of[i], i, LEFT);
		h[i] = (struct how){ dups ? dup(end[1]) : end[1], of[i], LEFT };
		CHECK(h[i].fd >= 0);
		th[i] = t_thread(writes_bytes, &h[i]);
	}
	while (all < 4 * LEFT) {
		ssize_t r = read(end[0], got, 10000);

		CHECK(r > 0);
		for (ssize_t i = 0; i < r; i++)
			n[got[i]]++;
		all += (size_t)r;
	}
	for (int i = 0; i < 4; i++) {
		t_join(th[i]);
		CHECK(n[i] == LEFT);
		if (dups)
			t_close(h[i].fd);
	}
	unmake(end);
	t_say("%d bytes of each", LEFT);
}

static void many(void)
{
	static struct how h[MANY];
	static int end[MANY][2];
	pthread_t th[MANY];
	int most = 24, low;

	for (int i = 0; i < MANY; i++)
		make(end[i]);
	low = dup(0);
	t_close(low);
	for (int i = 0; i < MANY; i++) {
		h[i] = (struct how){ end[i][1], data, LEFT };
		th[i] = t_thread(writes_bytes, &h[i]);
	}
	t_pause();
	CHECK(dup(0) == low);
	t_close(low);
	CHECK(!getenv("T_HOOKED") || t_kernel_threads() <= most);
	for (int i = 0; i < MANY; i++) {
		t_read(end[i][0], got, LEFT);
		CHECK(memcmp(got, data, LEFT) == 0);
		t_join(th[i]);
		unmake(end[i]);
	}
	t_say("%d FIFOs", MANY);
}

int main(void)
{
	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	t_fill(1, 0, data, sizeof(data));
	behind(0, MUCH);
	behind(60, MUCH);
	behind(3000, MUCH);
	behind(5 * PIPE_BUF, MUCH);
	behind(SIZE, 2 * PIPE_BUF);
	behind(SIZE - PIPE_BUF, 2 * PIPE_BUF);
	fits();
	t_be_threaded();
	vectors();
	interrupted("interrupted", 0);
	interrupted("SA_RESTART", SA_RESTART);
	reader_goes();
	nonblock();
	grows();
	bad_memory();
	closed(0);
	closed(1);
	cancelled();
	one_fifo(0);
	one_fifo(1);
	many();
	return 0;
}
