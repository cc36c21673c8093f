/* A token goes round a ring of threads that are joined by pipes. */
#include "t.h"

enum { N = 30, LAPS = 50 };

static int p[N][2];

static void *node(void *arg)
{
	int i = (int)(intptr_t)arg, token, seen = 0;
	ssize_t n;

	while ((n = read(p[i][0], &token, sizeof(token))) > 0) {
		CHECK(n == sizeof(token));
		CHECK(token % N == i);
		token++;
		seen++;
		t_write(p[(i + 1) % N][1], &token, sizeof(token));
		if (token >= N * LAPS - N + 1 + i)
			break;
	}
	return (void *)(intptr_t)seen;
}

int main(void)
{
	pthread_t th[N];
	int token = 0;
	long sum = 0;

	for (int i = 0; i < N; i++)
		t_pipe(p[i]);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(node, (void *)(intptr_t)i);
	t_write(p[0][1], &token, sizeof(token));
	for (int i = 0; i < N; i++)
		sum += (intptr_t)t_join(th[i]);
	t_read(p[0][0], &token, sizeof(token));
	t_say("token %d after %ld hops", token, sum);
	return 0;
}
