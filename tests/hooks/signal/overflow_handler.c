/*
 * A thread overflows its stack; the SIGSEGV handler on the alternate stack
 * leaves by siglongjmp, again and again, in several threads.
 */
#include "t.h"
#include <setjmp.h>

static __thread sigjmp_buf env;
static __thread void *fault;

static void on_segv(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	fault = si->si_addr;
	siglongjmp(env, 1);
}

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
	volatile int turn = 0, one = 1;
	pthread_attr_t a;
	stack_t ss = { 0 };
	char *lo;
	size_t size;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)&lo, &size));
	CHECK_0(pthread_attr_destroy(&a));
	ss.ss_size = 65536;
	ss.ss_sp = malloc(ss.ss_size);
	CHECK(sigaltstack(&ss, NULL) == 0);
	while (turn < 3) {
		turn++;
		if (sigsetjmp(env, 1) == 0) {
			forever(&one);
			return NULL;
		}
		CHECK((char *)fault < lo + 65536);
		CHECK((char *)fault >= lo - 65536);
		t_settle();
	}
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	free(ss.ss_sp);
	return arg;
}

int main(void)
{
	struct sigaction sa;
	pthread_t th[4];

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_segv;
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 4; i++)
		th[i] = t_small_thread(work, &sa);
	for (int i = 0; i < 4; i++)
		CHECK(t_join(th[i]) == &sa);
	t_say("4 threads, 3 overflows each");
	return 0;
}
