/* Four megabytes of the default stack are really there, in many threads. */
#include "t.h"

enum { N = 12, FRAME = 4096, DEPTH = 1000 };

static int p[N][2];

__attribute__((noinline)) static int deep(int i, int depth)
{
	volatile char frame[FRAME];
	int r;

	frame[0] = (char)depth;
	frame[FRAME - 1] = (char)i;
	if (depth == 0) {
		/* Block at the bottom, so that the stack is switched away. */
		t_put(p[(i + 1) % N][1], 'x');
		r = t_get(p[i][0]) == 'x';
	} else {
		r = deep(i, depth - 1);
	}
	CHECK(frame[0] == (char)depth);
	CHECK(frame[FRAME - 1] == (char)i);
	return r;
}

static void *work(void *arg)
{
	return (void *)(intptr_t)deep((int)(intptr_t)arg, DEPTH);
}

int main(void)
{
	pthread_t th[N];

	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < N; i++)
			if (turn == 0)
				t_pipe(p[i]);
		for (int i = 0; i < N; i++)
			th[i] = t_thread(work, (void *)(intptr_t)i);
		for (int i = 0; i < N; i++)
			CHECK((intptr_t)t_join(th[i]) == 1);
	}
	t_say("%d threads, %d frames of %d bytes", N, DEPTH, FRAME);
	return 0;
}
