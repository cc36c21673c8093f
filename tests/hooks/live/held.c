/*
 * Kernel threads that 1000 threads hold which wait in one call: natively one
 * each, hooked no more than there are workers, and 8. When the last thread is
 * about to make its call, whoever came before has a kernel thread if that call
 * needs one, since others run.
 *
 * t-case: read
 * t-case: sendfile
 * t-case: sendfile_pipe
 * t-case: splice_in
 * t-case: splice_out
 * t-case: splice_pipes
 * t-case: splice_tcp
 * t-case: tee
 * t-case: vmsplice
 * t-case: preadv2
 * t-case: pwritev2
 */
#include "t.h"
#include <sys/sendfile.h>

enum { N = 1000, BIG = 4 << 20 };

static int in[2], out[2]; /* pipes, or what a case has in their place */
static int file;
static int ready, done;
static char big[BIG];

static void fill(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK(fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0);
	while (write(fd, big, 65536) > 0)
		;
	while (write(fd, big, 1) > 0)
		;
	CHECK(fcntl(fd, F_SETFL, fl) == 0);
}

/* Whoever reads all that comes, until it ends. */
static void *drain(void *arg)
{
	static char b[65536];

	while (read(*(int *)arg, b, sizeof(b)) > 0)
		;
	return arg;
}

static void setup_pipes(void)
{
	t_pipe(in);
	t_pipe(out);
}

static void setup_full(void)
{
	setup_pipes();
	fill(out[1]);
}

/* The output is a stream that is full. */
static void setup_stream(void)
{
	t_pipe(in);
	t_pair(out);
	fill(out[1]);
}

static void setup_tcp(void)
{
	t_tcp_pair(in);
	t_pipe(out);
}

static void feed(void)
{
	t_write(in[1], big, N);
}

static long call_read(void)
{
	char c;

	return read(in[0], &c, 1);
}

static long call_sendfile(void)
{
	off_t at = 0;

	return sendfile(out[1], file, &at, 10);
}

static long call_splice_in(void)
{
	return splice(in[0], NULL, file, NULL, 1, 0);
}

static long call_splice(void)
{
	return splice(in[0], NULL, out[1], NULL, 1, 0);
}

static long call_tee(void)
{
	return tee(in[0], out[1], 1, 0);
}

static long call_vmsplice(void)
{
	struct iovec v = { big, 1 };

	return vmsplice(out[1], &v, 1, 0);
}

static long call_preadv2(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return preadv2(in[0], &v, 1, -1, 0);
}

static long call_pwritev2(void)
{
	struct iovec v = { big, 10 };

	return pwritev2(out[1], &v, 1, -1, 0);
}

static const struct wait {
	const char *name;
	void (*setup)(void);
	long (*call)(void);
	void (*feed)(void);
	int drained; /* by a thread that reads the output */
} waits[] = {
	{ "read", setup_pipes, call_read, feed, 0 },
	{ "sendfile", setup_stream, call_sendfile, NULL, 1 },
	{ "sendfile_pipe", setup_full, call_sendfile, NULL, 1 },
	{ "splice_in", setup_pipes, call_splice_in, feed, 0 },
	{ "splice_out", setup_stream, call_splice, feed, 1 },
	{ "splice_pipes", setup_pipes, call_splice, feed, 1 },
	{ "splice_tcp", setup_tcp, call_splice, feed, 1 },
	{ "tee", setup_full, call_tee, feed, 1 },
	{ "vmsplice", setup_full, call_vmsplice, NULL, 1 },
	{ "preadv2", setup_pipes, call_preadv2, feed, 0 },
	{ "pwritev2", setup_full, call_pwritev2, NULL, 1 },
};

static const struct wait *w;

static void *waiter(void *arg)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	CHECK(w->call() > 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int kernel_threads(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

static int workers(void)
{
	const char *e = getenv("FIBHOOK_WORKERS");

	return e ? atoi(e) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void find(const char *name)
{
	for (size_t i = 0; i < T_LEN(waits); i++)
		if (strcmp(waits[i].name, name) == 0)
			w = &waits[i];
	CHECK(w);
}

int main(int argc, char **argv)
{
	static pthread_t th[N];
	char path[PATH_MAX];
	pthread_t reader = 0;
	int n;

	CHECK(argc == 2);
	find(argv[1]);
	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	t_write(file, big, 100);
	w->setup();
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(waiter, NULL);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < N)
		sched_yield();
	n = kernel_threads();
	if (getenv("HELD_SHOW"))
		fprintf(stderr, "%s: %d kernel threads\n", w->name, n);
	CHECK(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
	if (getenv("T_HOOKED"))
		CHECK(n <= workers() + 8);
	else
		CHECK(n > N);
	if (w->feed)
		w->feed();
	if (w->drained)
		reader = t_thread(drain, &out[0]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	if (w->drained) {
		t_close(out[1]);
		t_join(reader);
	}
	t_say("%s: %d served", w->name, done);
	return 0;
}
