/* Detached threads: by attribute, by the creator, by themselves. */
#include "t.h"

enum { N = 300 };

static sem_t done;

static void *work(void *arg)
{
	if (arg)
		CHECK_0(pthread_detach(pthread_self()));
	CHECK(sem_post(&done) == 0);
	return NULL;
}

int main(void)
{
	pthread_attr_t a;
	pthread_t th;
	int state;

	CHECK(sem_init(&done, 0, 0) == 0);
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
	CHECK_0(pthread_attr_getdetachstate(&a, &state));
	CHECK(state == PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < N; i++)
		CHECK_0(pthread_create(&th, &a, work, NULL));
	for (int i = 0; i < N; i++)
		CHECK(sem_wait(&done) == 0);
	for (int i = 0; i < N; i++) {
		CHECK_0(pthread_create(&th, NULL, work, NULL));
		CHECK_0(pthread_detach(th));
	}
	for (int i = 0; i < N; i++)
		CHECK_0(pthread_create(&th, NULL, work, &done));
	for (int i = 0; i < 2 * N; i++)
		CHECK(sem_wait(&done) == 0);
	t_say("%d detached threads", 3 * N);
	return 0;
}
