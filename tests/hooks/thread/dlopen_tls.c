/*
 * A library with TLS is loaded and unloaded while threads are created and
 * joined: libc and ld.so share locks here.
 */
#include "t.h"
#include <dlfcn.h>
#include "../../support/tlslib.h"

enum { N = 8, LOADS = 60 };

static volatile int stop;

static void *use(void *arg)
{
	int (*next)(void) = (int (*)(void))arg;

	for (int i = 0; i < 10; i++) {
		CHECK(next() == 1001 + i);
		sched_yield();
	}
	return NULL;
}

static void *create_and_join(void *arg)
{
	while (!stop)
		t_join(t_thread(t_nothing, arg));
	return NULL;
}

int main(void)
{
	pthread_t churn[3], th[N];

	for (int i = 0; i < 3; i++)
		churn[i] = t_thread(create_and_join, NULL);
	for (int i = 0; i < LOADS; i++) {
		void *h = dlopen("libttls.so", RTLD_NOW | RTLD_LOCAL), *next;
		int (*touched)(void);

		if (!h) {
			t_say("%s", dlerror());
			return 1;
		}
		next = dlsym(h, "tlslib_next");
		*(void **)&touched = dlsym(h, "tlslib_touched");
		CHECK(next && touched);
		for (int k = 0; k < N; k++)
			th[k] = t_thread(use, next);
		for (int k = 0; k < N; k++)
			t_join(th[k]);
		CHECK(touched() == 0);
		CHECK(dlclose(h) == 0);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		t_join(churn[i]);
	t_say("%d loads, %d threads each", LOADS, N);
	return 0;
}
