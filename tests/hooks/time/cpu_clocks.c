/*
 * CPU clocks of threads: each has its own, whoever else works on the machine.
 * t-case: clock
 * t-case: other
 * t-case: main
 * t-case: usage
 * t-case: timer
 * t-case: errors
 * t-case: kinds
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include "t.h"

#define MS 1000000ll

static volatile unsigned long sink;

static long long cpu(clockid_t clock)
{
	struct timespec ts;

	CHECK(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * T_SEC + ts.tv_nsec;
}

static long long mine(void)
{
	return cpu(CLOCK_THREAD_CPUTIME_ID);
}

/* Until this thread has worked for @ms more; its own clock never goes back. */
static void burn(int ms)
{
	long long start = mine(), now = start, last = start;

	while (now - start < ms * MS) {
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
		now = mine();
		CHECK(now >= last);
		last = now;
	}
}

static void rest(int ms)
{
	struct timespec ts = { 0, ms * MS };

	CHECK(nanosleep(&ts, NULL) == 0);
}

static void *worker(void *arg)
{
	long long before = mine();

	burn(60);
	CHECK(mine() - before >= 60 * MS);
	return arg;
}

static void *sleeper(void *arg)
{
	long long before = mine();

	for (int i = 0; i < 20; i++)
		rest(10);
	/* The workers' 240 ms are none of this thread's. */
	CHECK(mine() - before < 40 * MS);
	return arg;
}

static void clock_case(void)
{
	pthread_t th[5];
	struct timespec res;

	for (int i = 0; i < 5; i++)
		th[i] = t_thread(i ? worker : sleeper, NULL);
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	CHECK(cpu(CLOCK_PROCESS_CPUTIME_ID) >= 240 * MS);
	CHECK(clock_getres(CLOCK_THREAD_CPUTIME_ID, &res) == 0);
	CHECK(res.tv_sec == 0 && res.tv_nsec == 1);
}

static int go[2], done[2];

static void *burn_and_wait(void *arg)
{
	burn(80);
	t_put(done[1], 'x');
	t_get(go[0]);
	return arg;
}

static void other_case(void)
{
	struct timespec res;
	long long seen, before;
	clockid_t clock;
	pthread_t th;

	/* What the first thread of all costs is left out. */
	t_be_threaded();
	before = mine();
	t_pipe(go);
	t_pipe(done);
	th = t_thread(burn_and_wait, NULL);
	CHECK_0(pthread_getcpuclockid(th, &clock));
	t_get(done[0]);
	seen = cpu(clock);
	CHECK(seen >= 80 * MS);
	CHECK(seen <= cpu(CLOCK_PROCESS_CPUTIME_ID));
	CHECK(clock_getres(clock, &res) == 0);
	CHECK(res.tv_sec == 0 && res.tv_nsec == 1);
	/* It waits: its clock stands. */
	rest(30);
	CHECK(cpu(clock) - seen < 20 * MS);
	CHECK(mine() - before < 40 * MS);
	CHECK_0(pthread_getcpuclockid(pthread_self(), &clock));
	CHECK(cpu(clock) <= mine());
	t_put(go[1], 'x');
	t_join(th);
}

/* What main did before there were threads counts. */
static void main_case(void)
{
	struct timespec a, b;
	long long t;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a) == 0);
	do {
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
		CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b) == 0);
		t = (b.tv_sec - a.tv_sec) * T_SEC + b.tv_nsec - a.tv_nsec;
	} while (t < 60 * MS);
	t_be_threaded();
	CHECK(mine() >= 60 * MS);
}

static long long used(void)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_THREAD, &u) == 0);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * T_SEC +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void *usage_thread(void *arg)
{
	long long before = used();

	burn(60);
	CHECK(used() - before >= 40 * MS);
	before = used();
	for (int i = 0; i < 10; i++)
		rest(10);
	CHECK(used() - before < 50 * MS);
	return arg;
}

static void usage_case(void)
{
	pthread_t th[3];

	for (int i = 0; i < 3; i++)
		th[i] = t_thread(usage_thread, NULL);
	for (int i = 0; i < 3; i++)
		t_join(th[i]);
}

static volatile int fired;

static void on_timer(int sig)
{
	(void)sig;
	fired++;
}

static void *timer_thread(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	struct itimerspec it = { .it_value = { 0, 50 * MS } };
	timer_t timer;
	long long before;

	CHECK(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	before = mine();
	rest(100);
	CHECK(fired == 0);
	while (!fired)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
	CHECK(mine() - before >= 45 * MS);
	CHECK(timer_delete(timer) == 0);
	return arg;
}

static void errors_case(void)
{
	struct timespec ts;
	int gone = 0x3ffffff;
	clockid_t none = (clockid_t)(~(unsigned)gone << 3 | 6);

	t_be_threaded();
	CHECK_ERR(clock_gettime(none, &ts), EINVAL);
	CHECK_ERR(clock_gettime(12345, &ts), EINVAL);
	CHECK_ERR(clock_getres(none, &ts), EINVAL);
	CHECK_ERR(clock_getres(12345, &ts), EINVAL);
	CHECK_ERR(getrusage(12345, (struct rusage *)&ts), EINVAL);
}

/* By raw numbers: a thread's user time, and all by ticks; its process, by its own id. */
static void *kinds_thread(void *arg)
{
	unsigned tid = (unsigned)syscall(SYS_gettid);
	long long all;

	burn(60);
	for (unsigned kind = 0; kind < 3; kind++) {
		CHECK(cpu((clockid_t)(~tid << 3 | 4 | kind)) <
		      cpu(CLOCK_PROCESS_CPUTIME_ID) + 20 * MS);
		CHECK(cpu((clockid_t)(~tid << 3 | kind)) >= 0);
	}
	all = cpu(CLOCK_PROCESS_CPUTIME_ID);
	CHECK(cpu((clockid_t)(~tid << 3 | 2)) >= all);
	return arg;
}

static void kinds_case(void)
{
	pthread_t th[2];

	for (int i = 0; i < 2; i++)
		th[i] = t_thread(kinds_thread, NULL);
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "clock"))
		clock_case();
	else if (!strcmp(argv[1], "other"))
		other_case();
	else if (!strcmp(argv[1], "main"))
		main_case();
	else if (!strcmp(argv[1], "usage"))
		usage_case();
	else if (!strcmp(argv[1], "kinds"))
		kinds_case();
	else if (!strcmp(argv[1], "timer")) {
		t_handle(SIGUSR1, on_timer, 0);
		t_join(t_thread(timer_thread, NULL));
	} else
		errors_case();
	t_say("%s: fine", argv[1]);
	return 0;
}
