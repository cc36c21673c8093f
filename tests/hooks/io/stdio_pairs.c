/* stdio over socket pairs: fdopen, fgets, fprintf, getline, in threads. */
#include "t.h"

enum { N = 12, LINES = 150 };

static void *server(void *arg)
{
	FILE *in = fdopen(*(int *)arg, "r"),
	     *out = fdopen(dup(*(int *)arg), "w");
	char line[256];
	int n = 0;

	CHECK(in && out);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		CHECK(fprintf(out, "%d:%s!\n", n++, line) > 0);
		CHECK(fflush(out) == 0);
	}
	CHECK(feof(in));
	CHECK(fclose(in) == 0);
	CHECK(fclose(out) == 0);
	return (void *)(intptr_t)n;
}

static void *client(void *arg)
{
	FILE *f = fdopen(*(int *)arg, "r+");
	char *line = NULL, want[64];
	size_t cap = 0;

	CHECK(f);
	CHECK(setvbuf(f, NULL, _IOLBF, 0) == 0);
	for (int i = 0; i < LINES; i++) {
		CHECK(fprintf(f, "line %d of %d\n", i, LINES) > 0);
		CHECK(fflush(f) == 0);
		CHECK(getline(&line, &cap, f) > 0);
		snprintf(want, sizeof(want), "%d:line %d of %d!\n", i, i,
			 LINES);
		CHECK(strcmp(line, want) == 0);
	}
	CHECK(shutdown(fileno(f), SHUT_WR) == 0);
	CHECK(getline(&line, &cap, f) == -1);
	free(line);
	CHECK(fclose(f) == 0);
	return NULL;
}

/* One FILE, many threads: lines stay whole, flockfile keeps pairs together. */
static FILE *shared;

static void *printer(void *arg)
{
	int id = (int)(intptr_t)arg;

	for (int i = 0; i < LINES; i++) {
		flockfile(shared);
		fprintf(shared, "<%d", id);
		if (i % 10 == 0)
			sched_yield();
		fprintf(shared, ">%d\n", id);
		funlockfile(shared);
	}
	return NULL;
}

int main(void)
{
	static int sv[N][2];
	pthread_t a[N], b[N];
	int whole = 0, x, y, p[2];
	char line[64];
	FILE *in;

	for (int i = 0; i < N; i++) {
		t_pair(sv[i]);
		a[i] = t_thread(server, &sv[i][0]);
		b[i] = t_thread(client, &sv[i][1]);
	}
	for (int i = 0; i < N; i++) {
		CHECK((intptr_t)t_join(a[i]) == LINES);
		t_join(b[i]);
	}
	t_say("%d clients, %d lines each", N, LINES);

	t_pipe(p);
	shared = fdopen(p[1], "w");
	in = fdopen(p[0], "r");
	CHECK(shared && in);
	CHECK(setvbuf(shared, NULL, _IONBF, 0) == 0);
	for (int i = 0; i < N; i++)
		a[i] = t_thread(printer, (void *)(intptr_t)i);
	for (int i = 0; i < N * LINES; i++) {
		CHECK(fgets(line, sizeof(line), in));
		CHECK(sscanf(line, "<%d>%d\n", &x, &y) == 2);
		whole += x == y;
	}
	for (int i = 0; i < N; i++)
		t_join(a[i]);
	t_say("%d of %d lines whole", whole, N * LINES);
	return 0;
}
