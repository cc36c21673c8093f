/*
 * Running off the end of a thread's stack: SIGSEGV, not silent damage.
 * t-expect: signal SEGV
 */
#include "t.h"
#include <sys/resource.h>

__attribute__((noinline)) static int forever(volatile int *up)
{
	volatile char frame[1024];

	frame[0] = (char)*up;
	if (*up == 0)
		return frame[0];
	return forever(up) + frame[0];
}

static void *work(void *arg)
{
	int x = 1;

	t_say("down");
	forever(&x);
	return arg;
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	pthread_t th[4];

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	for (int i = 0; i < 3; i++)
		th[i] = t_small_thread(t_nothing, NULL);
	for (int i = 0; i < 3; i++)
		t_join(th[i]);
	t_join(t_small_thread(work, NULL));
	return 0;
}
