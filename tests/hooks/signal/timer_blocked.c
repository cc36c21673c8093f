/*
 * A timer signals a thread that blocks the signal, which main does not: one pends at the
 * thread, and what expires meanwhile are its overruns. So they are when the thread
 * opens its mask.
 *
 * t-case: accepted
 * t-case: accepted rt
 * t-case: handled
 * t-case: handled rt
 */
#include "t.h"

#define INTERVAL (2 * T_MS)
#define LONG	 (200 * T_MS)

static int sig, handled;
static pthread_t owner;
static timer_t timer;
static long long began;
static volatile int hits;
static const struct itimerspec never;

static void check(int overrun)
{
	long long expired = 1 + overrun, most = (t_now() - began) / INTERVAL;

	CHECK(overrun == timer_getoverrun(timer));
	CHECK(expired <= most && expired >= LONG / INTERVAL * 9 / 10);
}

static void on_signal(int number, siginfo_t *info, void *uc)
{
	(void)uc;
	CHECK(pthread_equal(pthread_self(), owner) && number == sig);
	CHECK(info->si_code == SI_TIMER && info->si_value.sival_int == 77);
	if (hits++)
		return;
	check(info->si_overrun);
	CHECK(timer_settime(timer, 0, &never, NULL) == 0);
}

static void accepts(const sigset_t *set)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t pending;

	CHECK(sigpending(&pending) == 0 && sigismember(&pending, sig));
	CHECK(timer_getoverrun(timer) == 0);
	CHECK(sigtimedwait(set, &info, &now) == sig);
	CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == 77);
	check(info.si_overrun);
	CHECK(timer_settime(timer, 0, &never, NULL) == 0);
	CHECK(timer_getoverrun(timer) == 0);
	/* It may have expired once more. */
	if (sigtimedwait(set, NULL, &now) == sig)
		CHECK_ERR(sigtimedwait(set, NULL, &now), EAGAIN);
}

static void *blocks(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = sig,
			       .sigev_value.sival_int = 77 };
	struct itimerspec it = { t_ts(INTERVAL), t_ts(INTERVAL) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	owner = pthread_self();
	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	began = t_now();
	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	while (t_now() < began + LONG)
		t_settle();
	if (handled) {
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		CHECK(hits == 1 || hits == 2);
	} else {
		accepts(&set);
		CHECK(hits == 0);
	}
	CHECK(timer_delete(timer) == 0);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };

	handled = argc > 1 && !strcmp(argv[1], "handled");
	sig = argc > 2 ? SIGRTMIN + 3 : SIGUSR1;
	CHECK(sigaction(sig, &sa, NULL) == 0);
	t_bystander();
	t_join(t_thread(blocks, NULL));
	t_say("one");
	return 0;
}
