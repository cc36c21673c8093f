/* Barriers: nobody leaves early, one serial thread a round. */
#include "t.h"

enum { N = 16, ROUNDS = 100 };

static pthread_barrier_t b;
static int arrived[ROUNDS], serial;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int r;

		__atomic_add_fetch(&arrived[i], 1, __ATOMIC_SEQ_CST);
		r = pthread_barrier_wait(&b);
		CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
		CHECK(__atomic_load_n(&arrived[i], __ATOMIC_SEQ_CST) == N);
		if (r)
			__atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
	}
	return arg;
}

int main(void)
{
	pthread_t th[N];

	CHECK_RC(pthread_barrier_init(&b, NULL, 0), EINVAL);
	CHECK_0(pthread_barrier_init(&b, NULL, N));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_0(pthread_barrier_destroy(&b));
	t_say("%d rounds, %d serial", ROUNDS, serial);
	return 0;
}
