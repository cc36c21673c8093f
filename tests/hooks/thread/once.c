/* pthread_once: others wait for the first; cancelled, it can run again. */
#include "t.h"

enum { N = 20 };

static pthread_once_t o1 = PTHREAD_ONCE_INIT, o2 = PTHREAD_ONCE_INIT;
static int runs, seen, p[2];

static void slow(void)
{
	t_settle();
	runs++;
}

static void blocks(void)
{
	if (t_get(p[0]) == 'x')
		runs++;
}

static void *call(void *arg)
{
	CHECK_0(pthread_once(&o1, slow));
	CHECK(runs == 1);
	__atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void *call_blocking(void *arg)
{
	CHECK_0(pthread_once(&o2, blocks));
	return arg;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(call, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d run, %d saw it", runs, seen);
	t_pipe(p);
	runs = 0;
	th[0] = t_thread(call_blocking, NULL);
	t_settle();
	CHECK_0(pthread_cancel(th[0]));
	CHECK(t_join(th[0]) == PTHREAD_CANCELED);
	th[0] = t_thread(call_blocking, NULL);
	t_put(p[1], 'x');
	CHECK(t_join(th[0]) == NULL);
	t_say("cancelled once, then %d run", runs);
	return 0;
}
