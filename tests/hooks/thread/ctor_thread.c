/*
 * A library's constructor starts a thread before main(), its destructor
 * stops it after.
 * t-no-stats: the order of its destructor and of others is open
 */
#include "t.h"

int ctorlib_ask(char c);

static void *ask(void *arg)
{
	static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < 50; i++) {
		CHECK_0(pthread_mutex_lock(&mu));
		CHECK(ctorlib_ask((char)(i + 1)) == i + 1);
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	return arg;
}

int main(void)
{
	pthread_t th[5];

	for (int i = 0; i < 5; i++)
		th[i] = t_thread(ask, NULL);
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	t_say("asked");
	return 0;
}
