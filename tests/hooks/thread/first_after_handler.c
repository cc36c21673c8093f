/*
 * A handler has returned, and its frame still lies in a gap of the stack when the process's
 * first thread is made, with all signals blocked: that is not made by a handler.
 */
#include "t.h"

static void on_child(int sig)
{
	(void)sig;
}

static void *nothing(void *arg)
{
	return arg;
}

static __attribute__((noinline)) void make_one(void)
{
	char gap[16384];
	sigset_t all, old;
	pthread_t th;

	__asm__ volatile("" : : "r"(gap) : "memory");
	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, &old));
	th = t_thread(nothing, NULL);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	t_join(th);
}

int main(void)
{
	t_handle(SIGCHLD, on_child, 0);
	CHECK(kill(getpid(), SIGCHLD) == 0);
	make_one();
	t_say("made");
	return 0;
}
