/* One thread polls 400 descriptors that other threads make ready. */
#include "t.h"

enum { N = 400, ROUNDS = 5 };

static int sv[N][2];

static void *speaker(void *arg)
{
	int first = (int)(intptr_t)arg;

	for (int r = 0; r < ROUNDS; r++)
		for (int i = first; i < N; i += 4) {
			t_put(sv[i][1], (char)r);
			CHECK(t_get(sv[i][1]) == (char)(r + 100));
		}
	return NULL;
}

int main(void)
{
	struct pollfd pf[N];
	int turn[N] = { 0 }, left = N * ROUNDS;
	pthread_t th[4];

	for (int i = 0; i < N; i++) {
		t_pair(sv[i]);
		pf[i] = (struct pollfd){ sv[i][0], POLLIN, 0 };
	}
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(speaker, (void *)(intptr_t)i);
	while (left) {
		int n = poll(pf, N, 20000), seen = 0;

		CHECK(n > 0);
		for (int i = 0; i < N; i++) {
			if (!pf[i].revents)
				continue;
			CHECK(pf[i].revents == POLLIN);
			CHECK(t_get(pf[i].fd) == (char)turn[i]);
			t_put(pf[i].fd, (char)(turn[i]++ + 100));
			left--;
			seen++;
		}
		CHECK(seen == n);
	}
	for (int i = 0; i < 4; i++)
		t_join(th[i]);
	t_say("%d descriptors, %d rounds", N, ROUNDS);
	return 0;
}
