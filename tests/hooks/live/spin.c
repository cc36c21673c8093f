/*
 * Eight threads spin on a flag until the ninth has read a byte and sets it: no
 * thread that never waits may keep one from running that has been waiting.
 *
 * t-case: plain
 * t-case: yield
 * t-case: masked
 */
#include <sched.h>
#include "t.h"

static volatile int flag;
static void (*turn)(void);

static void nothing(void)
{
}

static void yield(void)
{
	sched_yield();
}

static void *spin(void *arg)
{
	sigset_t all;

	if (arg) {
		sigfillset(&all);
		CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	}
	while (!flag)
		turn();
	return NULL;
}

static void *ninth(void *arg)
{
	char c;

	CHECK(read(*(int *)arg, &c, 1) == 1);
	flag = 1;
	return NULL;
}

static double clock_s(clockid_t clock)
{
	struct timespec ts;

	CHECK(clock_gettime(clock, &ts) == 0);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	pthread_t th[9];
	double wall, cpu;
	cpu_set_t set;
	int p[2];

	turn = !strcmp(how, "yield") ? yield : nothing;
	t_pipe(p);
	th[8] = t_thread(ninth, &p[0]);
	wall = clock_s(CLOCK_MONOTONIC);
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(spin, strcmp(how, "masked") ? NULL : p);
	CHECK(write(p[1], "x", 1) == 1);
	for (int i = 0; i < 9; i++)
		t_join(th[i]);
	wall = clock_s(CLOCK_MONOTONIC) - wall;
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	/* Within a second; or what a second gives, where others compute too. */
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
	CHECK(wall < 1 || cpu < CPU_COUNT(&set));
	t_say("%s: nine threads have ended", how);
	return 0;
}
