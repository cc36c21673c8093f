/*
 * Kernel threads that 1000 threads hold which wait in one call: natively one
 * each, hooked no more than there are workers, and 8, but for those that are idle, for
 * spares come where a busy machine keeps a thread in a call; and those that the first of
 * them hold, where it is known by these alone what is waited for. When the last thread is
 * about to make its call, whoever came before has a kernel thread if that call
 * needs one, since others run. Its includer has the calls.
 */
#ifndef HELD_H
#define HELD_H

#include <dirent.h>
#include <linux/futex.h>
#include <stdbool.h>
#include "../calls.h"

enum { N = 1000 };

struct wait {
	const char *name;
	void (*setup)(void);
	long (*call)(void);
	void (*feed)(void);
	int drained; /* by a thread that reads the output */
};

static int in[2], out[2]; /* pipes, or what a case has in their place */
static int file;
static int ready, done;
static int learned; /* by a kernel thread for each worker: set by a setup */
static const struct wait *w;

/* For a setup. */
static inline void need_descriptors(rlim_t n)
{
	struct rlimit lim;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	lim.rlim_cur = lim.rlim_max;
	if (lim.rlim_cur < n)
		t_skip("not as many descriptors");
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
}

/* Whoever reads all that comes, until it ends. */
static void *drain(void *arg)
{
	static char b[65536];

	while (read(*(int *)arg, b, sizeof(b)) > 0)
		;
	return arg;
}

static void *waiter(void *arg)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	CHECK(w->call() > 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int workers(void)
{
	const char *e = getenv("FIBHOOK_WORKERS");

	return e ? atoi(e) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* In a wait for the next fiber: its number, the word, and what is done with that. */
static bool is_idle(pid_t pid, const char *tid)
{
	char path[300];
	unsigned op = 0;
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/syscall", (int)pid, tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld %*x %x", &nr, &op) < 1)
		nr = -1; /* it runs */
	if (f)
		fclose(f);
	return nr == SYS_epoll_wait || nr == SYS_epoll_pwait2 ||
	       (nr == SYS_futex && op & FUTEX_PRIVATE_FLAG);
}

static int held_threads(pid_t pid)
{
	struct dirent *e;
	char path[300];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.' && !is_idle(pid, e->d_name);
	closedir(d);
	return n;
}

/*
 * Whoever counts them, when all are at rest: a process of its own, which sees kernel
 * threads. It is nobody's child here.
 */
static int asked[2], counted[2];

static void count_when_asked(void)
{
	pid_t pid = getpid(), child;
	char b;

	t_pipe(asked);
	t_pipe(counted);
	child = fork();
	CHECK(child >= 0);
	if (child) {
		t_wait_ok(child);
		t_close(asked[0]);
		t_close(counted[1]);
		return;
	}
	child = fork();
	CHECK(child >= 0);
	if (child)
		_exit(0);
	t_close(asked[1]);
	while (read(asked[0], &b, 1) == 1) {
		int n;

		for (int i = 0, quiet = 0; i < 500 && quiet < 3; i++) {
			quiet = t_running_of(pid) ? 0 : quiet + 1;
			t_settle();
		}
		n = held_threads(pid);
		t_write(counted[1], &n, sizeof(n));
	}
	_exit(0);
}

static int count(void)
{
	int n;

	if (!getenv("T_HOOKED"))
		return t_kernel_threads();
	t_put(asked[1], 'n');
	t_read(counted[0], &n, sizeof(n));
	return n;
}

static void find(const struct wait *waits, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(waits[i].name, name) == 0)
			w = &waits[i];
	CHECK(w);
}

static void held(const struct wait *waits, size_t how_many, const char *name)
{
	static pthread_t th[N];
	char path[PATH_MAX];
	pthread_t reader = 0;
	int n;

	find(waits, how_many, name);
	if (getenv("T_HOOKED"))
		count_when_asked();
	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	CHECK(ftruncate(file, 100) == 0);
	w->setup();
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(waiter, NULL);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < N)
		sched_yield();
	n = count();
	if (getenv("HELD_SHOW"))
		fprintf(stderr, "%s: %d kernel threads\n", w->name, n);
	CHECK(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
	if (getenv("T_HOOKED"))
		CHECK(n <= workers() * (1 + learned) + 8);
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
}

#endif
