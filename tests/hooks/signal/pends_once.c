/*
 * A signal that pends is the same however often it is sent: in a handler that has closed
 * the mask for it, to be accepted there; and where a timer of the thread's own has sent
 * it, or had, before it was set anew.
 *
 * t-case: process
 * t-case: timer
 */
#include "t.h"

static sigset_t set;
static volatile int hits, code;

/* 0: none. */
static int accept_now(void)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;

	if (sigtimedwait(&set, &info, &now) == SIGUSR2)
		return info.si_code == SI_TIMER ? 2 : 1;
	CHECK(errno == EAGAIN);
	return 0;
}

static void on_usr2(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	hits++;
	code = info->si_code;
}

static void on_hup(int sig)
{
	(void)sig;
	CHECK(kill(getpid(), SIGUSR2) == 0);
	t_say("one: %d", accept_now());
	t_say("and no other: %d", accept_now());
}

static void *process(void *arg)
{
	struct sigaction sa = { .sa_handler = on_hup };
	sigset_t both = set;

	sigaddset(&both, SIGHUP);
	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGHUP, &sa, NULL) == 0);
	CHECK(kill(getpid(), SIGUSR2) == 0);
	CHECK(kill(getpid(), SIGHUP) == 0);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
	t_say("none is left: %d", hits);
	return arg;
}

static void expire(timer_t t)
{
	struct itimerspec it = { .it_value = { 0, 1 } };

	CHECK(timer_settime(t, 0, &it, NULL) == 0);
	do
		CHECK(timer_gettime(t, &it) == 0);
	while (it.it_value.tv_sec || it.it_value.tv_nsec);
}

static void *timer(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGUSR2 };
	const struct itimerspec never = { .it_value = { 0, 0 } };
	timer_t t;

	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	expire(t);
	CHECK(raise(SIGUSR2) == 0);
	t_say("the timer's: %d", accept_now());
	t_say("and no other: %d", accept_now());
	expire(t);
	CHECK(timer_settime(t, 0, &never, NULL) == 0);
	CHECK(kill(getpid(), SIGUSR2) == 0);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	/* On older kernels the timer's as well. */
	t_say("the process's: %d, %d", hits, code == SI_USER);
	CHECK(timer_delete(t) == 0);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_usr2,
				.sa_flags = SA_SIGINFO };
	sigset_t all;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	t_join(t_thread(argc > 1 && !strcmp(argv[1], "timer") ? timer : process,
			NULL));
	return 0;
}
