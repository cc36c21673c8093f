/* 300 threads blocked in various calls are all cancelled at once. */
#include "t.h"

enum { N = 300 };

static int sv[2], cleaned;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void clean(void *arg)
{
	if (arg)
		CHECK_0(pthread_mutex_unlock(arg));
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *victim(void *arg)
{
	int kind = (int)(intptr_t)arg % 4;
	struct pollfd pf = { sv[0], POLLIN, 0 };
	char c;

	if (kind == 3)
		CHECK_0(pthread_mutex_lock(&mu));
	pthread_cleanup_push(clean, kind == 3 ? &mu : NULL);
	switch (kind) {
	case 0:
		read(sv[0], &c, 1);
		break;
	case 1:
		poll(&pf, 1, -1);
		break;
	case 2:
		sleep(1000);
		break;
	case 3:
		for (;;)
			pthread_cond_wait(&cond, &mu);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_t th[N];

	t_pair(sv);
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(victim, (void *)(intptr_t)i);
	t_settle();
	for (int i = 0; i < N; i++)
		t_cancel(th[i]);
	for (int i = 0; i < N; i++)
		CHECK(t_join(th[i]) == PTHREAD_CANCELED);
	CHECK_0(pthread_mutex_lock(&mu));
	CHECK_0(pthread_mutex_unlock(&mu));
	/* One cancelled before it pushed anything cleans nothing. */
	CHECK(cleaned <= N);
	t_say("%d cancelled", N);
	return 0;
}
