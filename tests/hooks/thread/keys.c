/* pthread keys: values, destructors, their rounds, keys made and deleted. */
#include "t.h"

enum { N = 20 };

static pthread_key_t key, again;
static int destroyed, rounds;

static void on_destroy(void *v)
{
	CHECK(v != NULL);
	__atomic_add_fetch(&destroyed, (int)(intptr_t)v, __ATOMIC_SEQ_CST);
}

static void set_again(void *v)
{
	__atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST);
	CHECK_0(pthread_setspecific(again, v));
}

static void *work(void *arg)
{
	CHECK(pthread_getspecific(key) == NULL);
	CHECK_0(pthread_setspecific(key, arg));
	sched_yield();
	CHECK(pthread_getspecific(key) == arg);
	CHECK_0(pthread_setspecific(again, arg));
	if ((intptr_t)arg % 2)
		pthread_exit(NULL);
	return NULL;
}

int main(void)
{
	pthread_key_t many[200];
	pthread_t th[N];
	int made = 0;

	CHECK_0(pthread_key_create(&key, on_destroy));
	CHECK_0(pthread_key_create(&again, set_again));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)(i + 1));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("destroyed %d, %d rounds each", destroyed, rounds / N);
	for (int i = 0; i < 200; i++) {
		CHECK_0(pthread_key_create(&many[i], NULL));
		CHECK_0(pthread_setspecific(many[i], &many[i]));
		made++;
	}
	for (int i = 0; i < 200; i++) {
		CHECK(pthread_getspecific(many[i]) == &many[i]);
		CHECK_0(pthread_key_delete(many[i]));
	}
	CHECK_0(pthread_key_delete(key));
	CHECK_RC(pthread_key_delete(key), EINVAL);
	CHECK_RC(pthread_setspecific(key, &key), EINVAL);
	t_say("%d keys", made);
	return 0;
}
