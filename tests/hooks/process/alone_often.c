/*
 * A process whose threads have ended, and that changes what belongs to a kernel thread, is
 * one of a single kernel thread again (hooks/thread/leave.c). What it had for its threads and
 * its descriptors serves the next ones: it does not grow, however often.
 */
#include "t.h"

enum { ROUNDS = 300, FIRST = 100, MOST_KB = 256 };

static void *nothing(void *arg)
{
	return arg;
}

static long size_kb(void)
{
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");
	long kb = 0;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmSize: %ld", &kb);
	fclose(f);
	CHECK(kb > 0);
	return kb;
}

int main(void)
{
	cpu_set_t set[2];
	long before = 0;

	set[0] = set[1] = t_one_cpu();
	CHECK_0(sched_getaffinity(0, sizeof(set[0]), &set[0]));
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec ts = { 0, T_MS };
		int p[2];

		CHECK_0(sched_setaffinity(0, sizeof(*set), &set[i % 2]));
		t_join(t_thread(nothing, NULL));
		t_pipe(p);
		t_put(p[1], 'x');
		t_get(p[0]);
		t_close(p[0]);
		t_close(p[1]);
		CHECK_0(nanosleep(&ts, NULL));
		if (i == FIRST)
			before = size_kb();
	}
	CHECK(size_kb() - before < MOST_KB);
	t_say("it is as large as before");
	return 0;
}
