/* errno belongs to the thread, across every switch, and is 0 when main begins. */
#include "t.h"

enum { N = 16, TURNS = 200 };

static int p[N][2];

static void *check(void *arg)
{
	static const int last[] = { EBADF, ENOENT, ENOTSOCK, ESPIPE };
	int i = (int)(intptr_t)arg, *cached = &errno;
	char c;

	for (int k = 0; k < TURNS; k++) {
		errno = 1000 + i;
		t_put(p[(i + 1) % N][1], 'x');
		CHECK(read(p[i][0], &c, 1) == 1);
		CHECK(errno == 1000 + i);
		CHECK(cached == &errno);
		switch ((i + k) % 4) {
		case 0:
			CHECK_ERR(read(-1, &c, 1), EBADF);
			break;
		case 1:
			CHECK_ERR(open("/nonexistent", O_RDONLY), ENOENT);
			break;
		case 2:
			CHECK_ERR(recv(p[i][0], &c, 1, 0), ENOTSOCK);
			break;
		case 3:
			CHECK_ERR(lseek(p[i][0], 0, SEEK_SET), ESPIPE);
			break;
		}
		sched_yield();
		CHECK(errno == last[(i + k) % 4]);
	}
	return cached;
}

int main(void)
{
	pthread_t th[N];
	void *where[N];

	CHECK(errno == 0);
	for (int i = 0; i < N; i++)
		t_pipe(p[i]);
	errno = 77;
	for (int i = 0; i < N; i++)
		th[i] = t_thread(check, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		where[i] = t_join(th[i]);
	CHECK(errno == 77);
	for (int i = 0; i < N; i++)
		CHECK(where[i] != &errno);
	t_say("%d threads", N);
	return 0;
}
