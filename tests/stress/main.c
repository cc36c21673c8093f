/*
 * The driver: every scenario on 1, 2, 4 and 8 workers, for FIB_SEEDS seeds.
 *
 *	FIB_SEED=n	the first seed (else taken from the clock)
 *	FIB_SEEDS=n	how many (1)
 *	FIB_DELAY=0|1	chaos at named points (else with every odd seed)
 *	FIB_WORKERS=n	only on n workers
 *
 * Arguments are names of scenarios. One line per scenario and number of
 * workers; the last one is "N passed, N failed".
 */
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "runtime/iom.h"
#include "tests/stress/stress.h"

#define PATIENCE_SEC 10
#define STACK	     (128ul * 1024)

static struct {
	const struct scenario *scenario;
	unsigned workers;
	uint64_t seed;
	bool delay;
} now;

static struct fib_sched *sched; /* what the scenario runs in */
static _Atomic uint64_t progress;
static _Atomic int left;
static struct fib *joiner;

/* --- the child ----------------------------------------------------------- */

static const char *const state_name[] = { "free", "runnable", "running",
					  "parked" };
static const char *const permit_name[] = { "none", "parked", "notified" };

static void dump(void)
{
	uint32_t n;

	if (!sched)
		return;
	n = fib_load(&sched->workers, relaxed);
	fprintf(stderr, "idle %u, wake_pending %u, injected %u, running %d\n",
		fib_load(&sched->nidle, relaxed),
		fib_load(&sched->wake_pending, relaxed),
		fib_load(&sched->injected, relaxed),
		fib_load(&sched->running, relaxed));
	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = sched->worker[i];
		struct fib *f = __atomic_load_n(&w->cur, __ATOMIC_RELAXED);

		fprintf(stderr,
			"worker %u: %s%s%s fiber %d, queued %u, timer %lld\n",
			i, fib_load(&w->idle, relaxed) ? "idle " : "",
			fib_load(&w->taken, relaxed) ? "taken " : "",
			fib_load(&w->spare, relaxed) ? "spare " : "",
			f ? (int)f->index : -1, fib_load(&w->queued, relaxed),
			(long long)(fib_load(&w->timers.next_ns, relaxed) -
				    fib_now_ns()));
	}
	for (uint32_t i = 0, shown = 0; i < fib_high_water(); i++) {
		struct fib *f = fib_at(i);
		int state = fib_load(&f->state, relaxed);

		if (state == FIB_IS_FREE || shown++ >= 40)
			continue;
		fprintf(stderr, "fiber %u: %s, permit %s, waits for %u %#llx\n",
			i, state_name[state],
			permit_name[fib_load(&f->permit, relaxed)], f->wait,
			(unsigned long long)f->wait_arg);
	}
}

void stress_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s on %u workers, FIB_SEED=%llu FIB_DELAY=%d\n",
		now.scenario->name, now.workers, (unsigned long long)now.seed,
		now.delay);
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	dump();
	abort();
}

void stress_progress(void)
{
	fib_add(&progress, 1, relaxed);
}

static void *watchdog(void *arg)
{
	uint64_t seen = 0;
	int same = 0;

	for (;;) {
		struct timespec ts = { 0, 100 * (long)MSEC };
		uint64_t p = fib_load(&progress, relaxed);

		same = p == seen ? same + 1 : 0;
		if (same == PATIENCE_SEC * 10)
			stress_fail("no progress", __FILE__, __LINE__);
		seen = p;
		fib_raw(SYS_nanosleep, &ts, 0);
	}
	return NULL;
}

struct fib *stress_go(void (*fn)(void *), void *arg)
{
	struct fib *f;

	fib_add(&left, 1, relaxed);
	f = stress_fiber(fn, arg, STACK);
	stress_check(f);
	return f;
}

struct thread {
	void (*fn)(void *);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct thread t = *(struct thread *)arg;

	free(arg);
	/* It inherits a register: the preload sees to that in clone(). */
	fib_worker_set(NULL);
	t.fn(t.arg);
	return NULL;
}

void stress_thread(void (*fn)(void *), void *arg)
{
	struct thread *t = malloc(sizeof(*t));
	pthread_t thread;

	*t = (struct thread){ fn, arg };
	fib_add(&left, 1, relaxed);
	stress_check(pthread_create(&thread, NULL, thread_main, t) == 0);
	pthread_detach(thread);
}

void stress_done(void)
{
	struct fib *f = joiner;

	stress_progress();
	if (fib_sub(&left, 1, acq_rel) == 1)
		fib_wake(f);
}

void stress_join(void)
{
	while (fib_load(&left, acquire))
		fib_park();
}

void stress_burn(uint64_t ns)
{
	uint64_t end = fib_now_ns() + ns;

	while (fib_now_ns() < end)
		fib_cpu_relax();
}

void stress_dawdle(struct rnd *r)
{
	uint64_t n = rnd(r, 16);

	if (n < 4)
		fib_sched_yield();
	else if (n < 8)
		for (n = rnd(r, 300); n; n--)
			fib_cpu_relax();
}

void stress_dawdle_thread(struct rnd *r)
{
	uint64_t n = rnd(r, 16);

	if (n < 4)
		sched_yield();
	else if (n < 8)
		for (n = rnd(r, 300); n; n--)
			fib_cpu_relax();
}

/* On a fiber of the scheduler. */
static void run_scenario(void *arg)
{
	joiner = fib_self();
	now.scenario->run(now.seed);
	stress_join();
}

static void watch(void)
{
	pthread_t t;

	stress_check(pthread_create(&t, NULL, watchdog, NULL) == 0);
}

static void child(void)
{
	struct rnd r = rnd_from(now.seed, now.workers);

	fib_chaos_init(now.delay ? now.seed + 1 : 0, NULL);
	watch();
	stress_run(&sched, now.workers, run_scenario, &r);
	stress_check(fib_load(&left, relaxed) == 0);
	_exit(0);
}

/* --- the parent ---------------------------------------------------------- */

static int run_once(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid == 0)
		child();
	while (waitpid(pid, &status, 0) != pid)
		;
	return status;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *v = getenv(name);

	return v && *v ? strtoull(v, NULL, 10) : otherwise;
}

static bool chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	static const unsigned workers[] = { 1, 2, 4, 8 };
	uint64_t first = number("FIB_SEED", (uint64_t)time(NULL));
	uint64_t seeds = number("FIB_SEEDS", 1),
		 only = number("FIB_WORKERS", 0);
	int delay = (int)number("FIB_DELAY", 2), passed = 0, failed = 0;

	printf("FIB_SEED=%llu FIB_SEEDS=%llu\n", (unsigned long long)first,
	       (unsigned long long)seeds);
	for (const struct scenario *const *s = stress_scenarios; *s; s++)
		for (unsigned k = 0; k < FIB_ARRAY_SIZE(workers); k++) {
			int status = 0;
			uint64_t t = fib_now_ns();

			if (!chosen((*s)->name, argc, argv) ||
			    (only && workers[k] != only))
				continue;
			now.scenario = *s;
			now.workers = workers[k];
			for (uint64_t n = 0; n < seeds && !status; n++) {
				now.seed = first + n;
				now.delay =
					delay == 2 ? now.seed & 1 : delay == 1;
				status = run_once();
			}
			t = (fib_now_ns() - t) / MSEC;
			if (status) {
				failed++;
				printf("FAIL %s, %u workers, FIB_SEED=%llu "
				       "FIB_DELAY=%d: status %#x\n",
				       now.scenario->name, now.workers,
				       (unsigned long long)now.seed, now.delay,
				       (unsigned)status);
			} else {
				passed++;
				printf("ok   %s, %u workers %llu ms\n",
				       now.scenario->name, now.workers,
				       (unsigned long long)t);
			}
		}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
