/* sigaltstack belongs to the thread; the handler runs on it. */
#include "t.h"

enum { SIZE = 64 * 1024, N = 8 };

static __thread char *lo;
static __thread volatile int on_it, nested;

static void on_sig(int sig)
{
	char here;
	stack_t ss;

	(void)sig;
	if (&here > lo && &here < lo + SIZE)
		on_it++;
	CHECK(sigaltstack(NULL, &ss) == 0);
	CHECK(ss.ss_flags & SS_ONSTACK);
	CHECK_ERR(sigaltstack(&ss, NULL), EPERM);
	/* A blocking call in a handler on the alternate stack. */
	t_settle();
	nested++;
}

static void *work(void *arg)
{
	stack_t ss = { 0 }, old;

	CHECK(sigaltstack(NULL, &old) == 0);
	CHECK(old.ss_flags == SS_DISABLE);
	lo = malloc(SIZE);
	CHECK(lo);
	ss.ss_sp = lo;
	ss.ss_size = SIZE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(raise(SIGUSR1) == 0);
		CHECK(on_it == i + 1);
		CHECK(nested == i + 1);
		CHECK(sigaltstack(NULL, &old) == 0);
		CHECK(old.ss_sp == lo);
		CHECK(old.ss_flags == 0);
		sched_yield();
	}
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, &old) == 0);
	CHECK(old.ss_size == SIZE);
	ss.ss_flags = 0;
	ss.ss_size = 10;
	CHECK_ERR(sigaltstack(&ss, NULL), ENOMEM);
	free(lo);
	return arg;
}

int main(void)
{
	pthread_t th[N];

	t_handle(SIGUSR1, on_sig, SA_ONSTACK);
	work(NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("main and %d threads", N);
	return 0;
}
