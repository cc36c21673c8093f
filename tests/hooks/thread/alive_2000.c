/* 2000 threads alive at once, each blocked in read, then all answered. */
#include "t.h"

enum { N = 2000 };

static int sv[N][2];

static void *serve(void *arg)
{
	int fd = sv[(intptr_t)arg][0], x;

	for (int i = 0; i < 2; i++) {
		t_read(fd, &x, sizeof(x));
		x = x * 2 + 1;
		t_write(fd, &x, sizeof(x));
	}
	return arg;
}

int main(void)
{
	static pthread_t th[N];
	int x;

	for (int i = 0; i < N; i++) {
		t_pair(sv[i]);
		th[i] = t_small_thread(serve, (void *)(intptr_t)i);
	}
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < N; i++)
			t_write(sv[i][1], &i, sizeof(i));
		for (int i = N - 1; i >= 0; i--) {
			t_read(sv[i][1], &x, sizeof(x));
			CHECK(x == i * 2 + 1);
		}
	}
	for (int i = 0; i < N; i++)
		CHECK((intptr_t)t_join(th[i]) == i);
	t_say("%d threads", N);
	return 0;
}
