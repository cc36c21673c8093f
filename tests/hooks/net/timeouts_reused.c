/*
 * A receive timeout holds from the first call on, though the number was another
 * file's a moment ago, whose close() is just about to return elsewhere.
 */
#include "t.h"

enum { THREADS = 8, ROUNDS = 150, MS = 1 };

static void *run(void *arg)
{
	struct timeval tv = { 0, MS * 1000 };

	for (int i = 0; i < ROUNDS; i++) {
		int sv[2], p[2];
		char c;

		t_pair(sv);
		CHECK(!setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &tv,
				  sizeof(tv)));
		CHECK_ERR(recv(sv[0], &c, 1, 0), EAGAIN);
		t_close(sv[0]);
		t_close(sv[1]);
		/* Numbers that others are going to have. */
		for (int k = 0; k < 4; k++) {
			t_pipe(p);
			t_put(p[1], 'x');
			CHECK(t_get(p[0]) == 'x');
			t_close(p[0]);
			t_close(p[1]);
		}
	}
	return arg;
}

int main(void)
{
	pthread_t th[THREADS];

	for (int i = 0; i < THREADS; i++)
		th[i] = t_thread(run, NULL);
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	t_say("%d times", THREADS * ROUNDS);
	return 0;
}
