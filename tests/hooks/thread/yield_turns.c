/*
 * Threads that take turns, and yield while it is another one's turn, on one
 * processor: a turn costs what a yield costs, and not the whole time slice of
 * one that waits. CPU time is counted, since others may use the machine.
 */
#include "t.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { N = 8, ROUNDS = 500, MOST_US = 80 /* a turn */, MOST_CALLS = 100 };

static atomic_int turn;

static int64_t cpu_ns(void)
{
	struct timespec ts;

	CHECK(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts));
	return ts.tv_sec * T_SEC + ts.tv_nsec;
}

/* Or as long as so many empty system calls, where these are slow. */
static int most_us(void)
{
	int64_t spent = cpu_ns();

	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	spent = (cpu_ns() - spent) / 1000 * MOST_CALLS / 1000;
	return spent > MOST_US ? (int)spent : MOST_US;
}

static void *player(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; me >= 0 && i < ROUNDS; i++) {
		while (atomic_load(&turn) % N != me)
			CHECK(!sched_yield());
		atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[N];
	cpu_set_t one;
	int64_t spent;

	CHECK(argc <= 2);
	/* The workers come with the program: they must have it from there. */
	if (argc == 1) {
		one = t_one_cpu();
		CHECK(!sched_setaffinity(0, sizeof(one), &one));
		execl("/proc/self/exe", argv[0], "go", NULL);
		CHECK(!"execl");
	}
	/* What the first thread of all costs is left out. */
	t_join(t_thread(player, (void *)(intptr_t)-1));
	spent = cpu_ns();
	for (int i = 0; i < N; i++)
		t[i] = t_thread(player, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(t[i]);
	spent = (cpu_ns() - spent) / (N * ROUNDS) / 1000;
	if (spent > most_us())
		t_say("%d us a turn", (int)spent);
	t_say("%d turns", atomic_load(&turn));
	return 0;
}
