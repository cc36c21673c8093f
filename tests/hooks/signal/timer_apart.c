/*
 * What a timer has sent to main pends there, and the same number, sent to the process, beside
 * it: each of two threads finds its own.
 *
 * t-case: kill
 * t-case: queue
 */
#include "t.h"

static sigset_t set;

static int pends(void)
{
	sigset_t now;

	CHECK(sigpending(&now) == 0);
	return sigismember(&now, SIGUSR1);
}

static const char *accepted(void)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;

	if (sigtimedwait(&set, &info, &now) != SIGUSR1)
		return "nothing";
	return info.si_code == SI_TIMER ? "the timer's" :
	       info.si_code == SI_USER	? "a killer's" :
					  "a queued one";
}

static void *other(void *arg)
{
	t_say("for the process pends %d", pends());
	t_say("another thread: %s", accepted());
	t_say("then %s", accepted());
	return arg;
}

int main(int argc, char **argv)
{
	int queue = argc > 1 && !strcmp(argv[1], "queue");
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGUSR1 };
	struct itimerspec it = { .it_value = { 0, 20 * T_MS } };
	timer_t timer;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_be_threaded();
	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	do
		CHECK(timer_gettime(timer, &it) == 0);
	while (it.it_value.tv_nsec);
	if (queue)
		CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){ 0 }) == 0);
	else
		CHECK(kill(getpid(), SIGUSR1) == 0);
	t_join(t_thread(other, NULL));
	t_say("main: %s", accepted());
	t_say("then %s", accepted());
	CHECK(timer_delete(timer) == 0);
	return 0;
}
