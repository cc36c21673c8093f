/* A line chat on stdio: fdopen, fgets, fprintf, a mutex over all clients. */
#include "t.h"

enum { N = 15, LINES = 10 };

static int port;
static FILE *out[N];
static int members;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER;

static void *member(void *arg)
{
	int fd = (int)(intptr_t)arg;
	FILE *in = fdopen(fd, "r"), *mine = fdopen(dup(fd), "w");
	char line[200];

	CHECK(in && mine);
	CHECK_0(pthread_mutex_lock(&mu));
	out[members++] = mine;
	CHECK_0(pthread_cond_broadcast(&full));
	while (members < N)
		CHECK_0(pthread_cond_wait(&full, &mu));
	CHECK_0(pthread_mutex_unlock(&mu));
	while (fgets(line, sizeof(line), in)) {
		CHECK_0(pthread_mutex_lock(&mu));
		for (int i = 0; i < N; i++) {
			CHECK(fputs(line, out[i]) >= 0);
			CHECK(fflush(out[i]) == 0);
		}
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	fclose(in);
	return NULL;
}

static void *client(void *arg)
{
	int id = (int)(intptr_t)arg, next[N] = { 0 }, from, seq;
	int fd = t_connect(port);
	FILE *in = fdopen(fd, "r");
	char line[200];

	CHECK(in);
	for (int i = 0; i < LINES; i++)
		CHECK(dprintf(fd, "%d %d hello everybody\n", id, i) > 0);
	for (int i = 0; i < N * LINES; i++) {
		CHECK(fgets(line, sizeof(line), in));
		CHECK(sscanf(line, "%d %d hello everybody\n", &from, &seq) ==
		      2);
		CHECK(next[from]++ == seq);
	}
	CHECK(shutdown(fd, SHUT_WR) == 0);
	fclose(in);
	return NULL;
}

int main(void)
{
	int l = t_listen(&port);
	pthread_t c[N], m[N];

	for (int i = 0; i < N; i++)
		c[i] = t_thread(client, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++) {
		int fd = accept(l, NULL, NULL);

		CHECK(fd >= 0);
		m[i] = t_thread(member, (void *)(intptr_t)fd);
	}
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	for (int i = 0; i < N; i++)
		t_join(m[i]);
	t_say("%d members heard %d lines each, in order", N, N * LINES);
	return 0;
}
