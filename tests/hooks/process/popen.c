/* popen both ways, in threads, with much data. */
#include "t.h"

enum { N = 6, LINES = 3000 };

static void *reads(void *arg)
{
	FILE *f = popen("i=0; while [ $i -lt 3000 ]; do echo line $i; "
			"i=$((i+1)); done; exit 4",
			"r");
	char line[64], want[64];
	int n = 0, st;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		snprintf(want, sizeof(want), "line %d\n", n++);
		CHECK(strcmp(line, want) == 0);
	}
	CHECK(n == LINES);
	st = pclose(f);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 4);
	return arg;
}

static void *writes(void *arg)
{
	FILE *f = popen("test $(wc -l) -eq 3000", "we");

	CHECK(f);
	for (int i = 0; i < LINES; i++)
		CHECK(fprintf(f, "a line that is longer: %d\n", i) > 0);
	CHECK(pclose(f) == 0);
	return arg;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(i % 2 ? reads : writes, NULL);
	reads(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d threads", N);
	return 0;
}
