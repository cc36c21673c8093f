/*
 * Small costs of threads, measured by plain pthreads. Run it natively and
 * hooked, on one core: `micro NAME SECONDS` prints operations per second.
 *
 *	create	   pthread_create and pthread_join of a thread that returns
 *	spawn	   the same, 1000 threads at a time
 *	cond	   two threads hand a turn to and fro by mutex and condition
 *	sem	   the same by two semaphores
 *	yield	   two threads call sched_yield
 *	yield1000  a thousand threads do
 *	detach	   pthread_create of a detached thread that posts a semaphore
 *	pipe	   two threads pass 64 bytes to and fro through two pipes
 *	socketpair the same through a pair of unix sockets
 *	stdio	   the same through stdio streams of the pair and of duplicates
 *	mutex	   64 threads lock one mutex and do nothing under it
 *	mutexwork  the same, with some 300 ns of work under it and beside it
 *	pairs	   32 pairs of threads with a socketpair each
 *	sleepers   1000 threads that each sleep 1 ms at a time: wake-ups
 *	cacheline  two threads on two cores pass a cache line: a property of
 *		   the machine, to know which other figures can be compared
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SPAWN	    1000
#define SLEEPERS    1000
#define SLEEP_NS    1000000
#define MAX_SECONDS 30

static uint64_t duration_ns;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void check(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "micro: %s: %s\n", what, strerror(err));
		exit(1);
	}
}

static double per_second(uint64_t ops, uint64_t start)
{
	return (double)ops * 1e9 / (double)(now_ns() - start);
}

static void *nothing(void *arg)
{
	return arg;
}

static double bench_create(void)
{
	uint64_t start = now_ns(), ops = 0;
	pthread_t t;

	do {
		check(pthread_create(&t, NULL, nothing, NULL), "create");
		check(pthread_join(t, NULL), "join");
		ops++;
	} while (now_ns() - start < duration_ns);
	return per_second(ops, start);
}

static double bench_spawn(void)
{
	static pthread_t t[SPAWN];
	uint64_t start = now_ns(), ops = 0;
	int i;

	do {
		for (i = 0; i < SPAWN; i++)
			check(pthread_create(&t[i], NULL, nothing, NULL),
			      "create");
		for (i = 0; i < SPAWN; i++)
			check(pthread_join(t[i], NULL), "join");
		ops += SPAWN;
	} while (now_ns() - start < duration_ns);
	return per_second(ops, start);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ball, over;

/* Waits for its turn and gives it away; returns the number of turns. */
static uint64_t play_cond(int me, uint64_t start)
{
	uint64_t turns = 0;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (ball != me && !over)
			pthread_cond_wait(&changed, &lock);
		if (start && turns % 64 == 0)
			over = now_ns() - start >= duration_ns;
		ball = !me;
		pthread_cond_signal(&changed);
		if (over)
			break;
		turns++;
	}
	pthread_mutex_unlock(&lock);
	return turns;
}

static void *cond_peer(void *arg)
{
	play_cond(1, 0);
	return arg;
}

static double bench_cond(void)
{
	uint64_t start, ops;
	pthread_t t;

	check(pthread_create(&t, NULL, cond_peer, NULL), "create");
	start = now_ns();
	ops = 2 * play_cond(0, start);
	check(pthread_join(t, NULL), "join");
	return per_second(ops, start);
}

static sem_t ping, pong;
static atomic_int sem_over;

static void wait_sem(sem_t *sem)
{
	while (sem_wait(sem) < 0)
		if (errno != EINTR)
			check(errno, "sem_wait");
}

static void *sem_peer(void *arg)
{
	int last;

	do {
		wait_sem(&ping);
		last = atomic_load(&sem_over);
		sem_post(&pong);
	} while (!last);
	return arg;
}

static double bench_sem(void)
{
	uint64_t start, ops = 0;
	pthread_t t;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	check(pthread_create(&t, NULL, sem_peer, NULL), "create");
	start = now_ns();
	do {
		if (ops % 128 == 0 && now_ns() - start >= duration_ns)
			atomic_store(&sem_over, 1);
		sem_post(&ping);
		wait_sem(&pong);
		ops += 2;
	} while (!atomic_load(&sem_over));
	check(pthread_join(t, NULL), "join");
	return per_second(ops, start);
}

static atomic_ullong yields;

static void *yield_peer(void *arg)
{
	uint64_t start = *(const uint64_t *)arg, ops = 0;

	do {
		sched_yield();
		ops++;
	} while (ops % 64 || now_ns() - start < duration_ns);
	atomic_fetch_add(&yields, ops);
	return arg;
}

static double bench_yield(void)
{
	uint64_t start = now_ns();
	pthread_t t;

	check(pthread_create(&t, NULL, yield_peer, &start), "create");
	yield_peer(&start);
	check(pthread_join(t, NULL), "join");
	return per_second(atomic_load(&yields), start);
}

#define YIELDERS 1000

static double bench_yield1000(void)
{
	static pthread_t t[YIELDERS];
	uint64_t start = now_ns();
	int i;

	for (i = 0; i < YIELDERS; i++)
		check(pthread_create(&t[i], NULL, yield_peer, &start),
		      "create");
	for (i = 0; i < YIELDERS; i++)
		check(pthread_join(t[i], NULL), "join");
	return per_second(atomic_load(&yields), start);
}

static sem_t detached;

static void *post_detached(void *arg)
{
	sem_post(&detached);
	return arg;
}

static double bench_detach(void)
{
	uint64_t start, ops = 0;
	pthread_attr_t attr;
	pthread_t t;

	sem_init(&detached, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	start = now_ns();
	do {
		check(pthread_create(&t, &attr, post_detached, NULL), "create");
		wait_sem(&detached);
		ops++;
	} while (now_ns() - start < duration_ns);
	return per_second(ops, start);
}

/* --- two threads that pass a message to and fro ---------------------------- */

#define MESSAGE 64
#define PAIRS	32

struct end {
	int in, out;
	FILE *from, *to; /* NULL: not through stdio */
};

struct pair {
	struct end a, b;
	uint64_t start, passes;
	pthread_t ta, tb;
};

static void pass(const struct end *e, const char *buf)
{
	if (e->to) {
		if (fwrite(buf, 1, MESSAGE, e->to) != MESSAGE || fflush(e->to))
			check(EIO, "fwrite");
	} else if (write(e->out, buf, MESSAGE) != MESSAGE) {
		check(errno, "write");
	}
}

static void take(const struct end *e, char *buf)
{
	if (e->from) {
		if (fread(buf, 1, MESSAGE, e->from) != MESSAGE)
			check(EIO, "fread");
	} else if (read(e->in, buf, MESSAGE) != MESSAGE) {
		check(EIO, "read");
	}
}

static void *answers(void *arg)
{
	struct pair *p = arg;
	char buf[MESSAGE];

	do {
		take(&p->b, buf);
		pass(&p->b, buf);
	} while (!*buf);
	return NULL;
}

/* The last message is told by its first byte. */
static void *asks(void *arg)
{
	struct pair *p = arg;
	char buf[MESSAGE] = { 0 };

	do {
		if (p->passes % 64 == 0)
			*buf = now_ns() - p->start >= duration_ns;
		pass(&p->a, buf);
		take(&p->a, buf);
		p->passes += 2;
	} while (!*buf);
	return NULL;
}

static void open_pair(struct pair *p, int unix_sockets)
{
	int there[2], back[2];

	if (unix_sockets) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, there))
			check(errno, "socketpair");
		p->a.in = p->a.out = there[0];
		p->b.in = p->b.out = there[1];
		return;
	}
	if (pipe(there) || pipe(back))
		check(errno, "pipe");
	p->b.in = there[0];
	p->a.out = there[1];
	p->a.in = back[0];
	p->b.out = back[1];
}

static void open_streams(struct end *e)
{
	e->from = fdopen(e->in, "r");
	e->to = fdopen(dup(e->out), "w");
	if (!e->from || !e->to)
		check(errno, "fdopen");
}

static double play_pairs(int n, int unix_sockets, int stdio)
{
	static struct pair pairs[PAIRS];
	uint64_t start = now_ns(), ops = 0;
	int i;

	for (i = 0; i < n; i++) {
		open_pair(&pairs[i], unix_sockets);
		if (stdio) {
			open_streams(&pairs[i].a);
			open_streams(&pairs[i].b);
		}
	}
	for (i = 0; i < n; i++) {
		pairs[i].start = start;
		check(pthread_create(&pairs[i].tb, NULL, answers, &pairs[i]),
		      "create");
		check(pthread_create(&pairs[i].ta, NULL, asks, &pairs[i]),
		      "create");
	}
	for (i = 0; i < n; i++) {
		check(pthread_join(pairs[i].ta, NULL), "join");
		check(pthread_join(pairs[i].tb, NULL), "join");
		ops += pairs[i].passes;
	}
	return per_second(ops, start);
}

static double bench_pipe(void)
{
	return play_pairs(1, 0, 0);
}

static double bench_socketpair(void)
{
	return play_pairs(1, 1, 0);
}

static double bench_stdio(void)
{
	return play_pairs(1, 1, 1);
}

static double bench_pairs(void)
{
	return play_pairs(PAIRS, 1, 0);
}

/* --- 64 threads and one mutex ------------------------------------------------ */

#define FIGHTERS 64
#define WORK	 100

static atomic_ullong fights;
static int work;
static uint64_t fight_start;

static unsigned int busy(unsigned int x)
{
	int i;

	for (i = 0; i < work; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

static void *fighter(void *arg)
{
	static unsigned int under;
	volatile unsigned int beside = 1;
	uint64_t ops = 0;

	do {
		pthread_mutex_lock(&lock);
		under = busy(under);
		pthread_mutex_unlock(&lock);
		beside = busy(beside);
		ops++;
	} while (ops % 64 || now_ns() - fight_start < duration_ns);
	atomic_fetch_add(&fights, ops);
	return arg;
}

static double bench_mutex(void)
{
	static pthread_t t[FIGHTERS];
	int i;

	fight_start = now_ns();
	for (i = 0; i < FIGHTERS; i++)
		check(pthread_create(&t[i], NULL, fighter, NULL), "create");
	for (i = 0; i < FIGHTERS; i++)
		check(pthread_join(t[i], NULL), "join");
	return per_second(atomic_load(&fights), fight_start);
}

static double bench_mutexwork(void)
{
	work = WORK;
	return bench_mutex();
}

static pthread_barrier_t ready;
static atomic_int arrived, sleep_over;
static atomic_ullong wakeups[SLEEPERS];

static void *sleeper(void *arg)
{
	struct timespec ts = { .tv_nsec = SLEEP_NS };
	atomic_ullong *count = arg;
	unsigned long long n = 0;

	atomic_fetch_add(&arrived, 1);
	pthread_barrier_wait(&ready);
	while (!atomic_load_explicit(&sleep_over, memory_order_relaxed)) {
		nanosleep(&ts, NULL);
		atomic_store_explicit(count, ++n, memory_order_relaxed);
	}
	return NULL;
}

static double bench_sleepers(void)
{
	static pthread_t t[SLEEPERS];
	struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t start, ops = 0;
	double rate;
	int i;

	check(pthread_barrier_init(&ready, NULL, SLEEPERS + 1), "barrier");
	for (i = 0; i < SLEEPERS; i++)
		check(pthread_create(&t[i], NULL, sleeper, &wakeups[i]),
		      "create");
	/* The clock starts when all are there, before the first sleeps. */
	while (atomic_load(&arrived) < SLEEPERS)
		nanosleep(&ms, NULL);
	start = now_ns();
	pthread_barrier_wait(&ready);
	while (now_ns() - start < duration_ns)
		nanosleep(&ms, NULL);
	for (i = 0; i < SLEEPERS; i++)
		ops += atomic_load_explicit(&wakeups[i], memory_order_relaxed);
	rate = per_second(ops, start);
	atomic_store(&sleep_over, 1);
	for (i = 0; i < SLEEPERS; i++)
		check(pthread_join(t[i], NULL), "join");
	return rate;
}

static _Alignas(128) atomic_ullong shared_line;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(pthread_setaffinity_np(pthread_self(), sizeof(set), &set),
	      "affinity");
}

/* Odd values are the peer's to raise; UINT64_MAX ends it. */
static void *line_peer(void *arg)
{
	unsigned long long v;

	pin(1);
	for (;;) {
		v = atomic_load_explicit(&shared_line, memory_order_acquire);
		if (v == UINT64_MAX)
			return arg;
		if (v & 1)
			atomic_store_explicit(&shared_line, v + 1,
					      memory_order_release);
	}
}

static double bench_cacheline(void)
{
	unsigned long long v = 0;
	uint64_t start;
	double rate;
	pthread_t t;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "micro: cacheline needs two cores\n");
		exit(1);
	}
	check(pthread_create(&t, NULL, line_peer, NULL), "create");
	pin(0);
	start = now_ns();
	do {
		atomic_store_explicit(&shared_line, v + 1,
				      memory_order_release);
		v += 2;
		while (atomic_load_explicit(&shared_line,
					    memory_order_acquire) != v &&
		       now_ns() - start < 2 * duration_ns)
			;
	} while (now_ns() - start < duration_ns);
	rate = per_second(v, start);
	atomic_store(&shared_line, UINT64_MAX);
	check(pthread_join(t, NULL), "join");
	return rate;
}

static const struct {
	const char *name;
	double (*run)(void);
} benches[] = {
	{ "create", bench_create },
	{ "spawn", bench_spawn },
	{ "cond", bench_cond },
	{ "sem", bench_sem },
	{ "yield", bench_yield },
	{ "sleepers", bench_sleepers },
	{ "cacheline", bench_cacheline },
	{ "yield1000", bench_yield1000 },
	{ "detach", bench_detach },
	{ "pipe", bench_pipe },
	{ "socketpair", bench_socketpair },
	{ "stdio", bench_stdio },
	{ "pairs", bench_pairs },
	{ "mutex", bench_mutex },
	{ "mutexwork", bench_mutexwork },
};

int main(int argc, char **argv)
{
	size_t i, n = sizeof(benches) / sizeof(benches[0]);
	double sec = argc == 3 ? strtod(argv[2], NULL) : 0;

	if (sec > 0.001 && sec <= MAX_SECONDS) {
		duration_ns = (uint64_t)(sec * 1e9);
		for (i = 0; i < n; i++) {
			if (strcmp(argv[1], benches[i].name) == 0) {
				/* The last resort: it ends the process. */
				alarm((unsigned int)sec + 30);
				printf("%.0f\n", benches[i].run());
				return 0;
			}
		}
	}
	fprintf(stderr, "usage: micro NAME SECONDS; names:");
	for (i = 0; i < n; i++)
		fprintf(stderr, " %s", benches[i].name);
	fprintf(stderr, "\n");
	return 2;
}
