/*
 * pthread_exit from main while others run: the process goes on, main can be
 * joined, the last thread's end is exit status 0.
 */
#include "t.h"

static pthread_t main_thread;
static int p[2];

static void *last(void *arg)
{
	void *ret;

	CHECK_0(pthread_join(main_thread, &ret));
	t_say("joined main: %d", (int)(intptr_t)ret);
	t_put(p[1], 'x');
	CHECK(t_get(p[0]) == 'x');
	t_join(t_thread(t_nothing, NULL));
	t_say("threads are still made");
	return arg;
}

static void at_exit(void)
{
	t_say("atexit ran");
}

int main(void)
{
	t_pipe(p);
	CHECK(atexit(at_exit) == 0);
	main_thread = pthread_self();
	t_thread(last, NULL);
	pthread_exit((void *)5);
}
