/*
 * Of what the tests go by: t_running() counts who computes, natively and hooked, where the
 * process is shown no workers; and t_pause() is over only when nobody does.
 */
#include "../calls.h"

static atomic_int runs, over;

static void *computes(void *arg)
{
	long long end = t_now() + 200 * T_MS;

	runs = 1;
	while (t_now() < end)
		;
	over = 1;
	return arg;
}

int main(void)
{
	pthread_t th = t_thread(computes, NULL);

	while (!runs)
		sched_yield();
	CHECK(t_running() > 1 || over);
	t_pause();
	CHECK(over);
	t_join(th);
	t_say("whoever computes is waited for");
	return 0;
}
