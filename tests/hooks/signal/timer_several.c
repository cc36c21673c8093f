/*
 * Several threads, each with a timer of its own, of one number: each gets what its own
 * timer sent and nothing else, by sigtimedwait() or a handler, while another one looks for
 * the same number all the time; and what the process is sent meanwhile gets to somebody,
 * each once. Who looks, and who sends, does so at a pace, so that timers of half a
 * millisecond expire in between: there is no condition to wait for.
 *
 * t-case: usr2
 * t-case: rt
 */
#include "t.h"

enum { THREADS = 5, TURNS = 100, SENT = 100 };

static int sig;
static sigset_t set;
static __thread int self = -1;
static _Atomic int strange, of_process, stop;

static void got(const siginfo_t *info)
{
	if (info->si_code != SI_TIMER)
		of_process++;
	else if (info->si_value.sival_int != self)
		strange++;
}

static void on_signal(int number, siginfo_t *info, void *uc)
{
	(void)number;
	(void)uc;
	got(info);
}

static int accept_within(long long ns)
{
	struct timespec ts = t_ts(ns);
	siginfo_t info;

	if (sigtimedwait(&set, &info, &ts) != sig)
		return 0;
	got(&info);
	return 1;
}

static void *has_timer(void *arg)
{
	struct itimerspec it;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = sig };
	timer_t timer;

	self = (int)(long)arg;
	it.it_value = it.it_interval = t_ts(T_MS / 2 + self * T_MS / 10);
	ev.sigev_value.sival_int = self;
	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	for (int i = 0; i < TURNS; i++) {
		if (self > 0) {
			accept_within(3 * T_MS);
			continue;
		}
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		t_settle();
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	}
	CHECK(timer_delete(timer) == 0);
	return NULL;
}

static void *looks(void *arg)
{
	while (!stop) {
		sigset_t pending;

		CHECK(sigpending(&pending) == 0);
		accept_within(0);
		usleep(100);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t t[THREADS], looker;

	sig = argc > 1 && !strcmp(argv[1], "rt") ? SIGRTMIN + 2 : SIGUSR2;
	CHECK(sigaction(sig, &sa, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (long i = 0; i < THREADS; i++)
		t[i] = t_thread(has_timer, (void *)i);
	looker = t_thread(looks, NULL);
	for (int i = 0; i < SENT; i++) {
		CHECK(kill(getpid(), sig) == 0);
		usleep(500);
	}
	for (int i = 0; i < THREADS; i++)
		t_join(t[i]);
	stop = 1;
	t_join(looker);
	while (accept_within(0))
		;
	CHECK(sig == SIGUSR2 || of_process == SENT);
	t_say("others' signals: %d", strange);
	return 0;
}
