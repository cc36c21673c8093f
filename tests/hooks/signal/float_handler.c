/*
 * A handler begins with the floating-point modes and flags of a program that begins,
 * and what it does to them is over when it returns: one that comes in a call, one that
 * comes while the thread waits, one that comes between calls.
 */
#include "t.h"
#include <fenv.h>

static int p[2];
static volatile int mode, flags, handled;
static volatile double one = 1, none;
static volatile long double one_x87 = 1, none_x87;

static void on_usr1(int sig)
{
	(void)sig;
	mode = fegetround();
	flags = fetestexcept(FE_ALL_EXCEPT);
	fesetround(FE_DOWNWARD);
	one = one / none;
	one_x87 = one_x87 / none_x87;
	handled = 1;
}

static void *sends(void *arg)
{
	t_settle();
	CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
	return NULL;
}

static void look(const char *when)
{
	CHECK(handled);
	t_say("%s: handler %s, flags %d; after it %s, flags %s", when,
	      mode == FE_TONEAREST ? "to nearest" : "other", flags,
	      fegetround() == FE_UPWARD ? "upward" : "other",
	      fetestexcept(FE_ALL_EXCEPT) == FE_INVALID ? "as they were" :
							  "other");
	handled = 0;
	one = one_x87 = 1;
}

static void *work(void *arg)
{
	pthread_t self = pthread_self(), th;
	char c;

	CHECK(fesetround(FE_UPWARD) == 0);
	CHECK(feraiseexcept(FE_INVALID) == 0);
	CHECK(raise(SIGUSR1) == 0);
	look("raised");
	th = t_thread(sends, &self);
	CHECK_ERR(read(p[0], &c, 1), EINTR);
	look("read");
	t_join(th);
	th = t_thread(sends, &self);
	while (!handled)
		;
	look("between calls");
	t_join(th);
	return arg;
}

int main(void)
{
	t_pipe(p);
	t_handle(SIGUSR1, on_usr1, 0);
	t_join(t_thread(work, NULL));
	return 0;
}
