/* timer_create: SIGEV_THREAD makes threads inside libc; SIGEV_SIGNAL. */
#include "t.h"

static sem_t ticks;
static volatile int value, hits, overrun_ok = 1;

static void on_tick(union sigval v)
{
	value = v.sival_int;
	CHECK(sem_post(&ticks) == 0);
}

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	overrun_ok &= si->si_code == SI_TIMER;
	overrun_ok &= si->si_value.sival_int == 43;
	hits++;
}

int main(void)
{
	struct sigevent se;
	struct itimerspec it = { { 0, 4 * T_MS }, { 0, 4 * T_MS } };
	struct sigaction sa;
	sigset_t block, wait;
	timer_t t;

	CHECK(sem_init(&ticks, 0, 0) == 0);
	memset(&se, 0, sizeof(se));
	se.sigev_notify = SIGEV_THREAD;
	se.sigev_notify_function = on_tick;
	se.sigev_value.sival_int = 42;
	CHECK(timer_create(CLOCK_MONOTONIC, &se, &t) == 0);
	CHECK(timer_settime(t, 0, &it, NULL) == 0);
	for (int i = 0; i < 10; i++)
		t_down(&ticks);
	CHECK(timer_delete(t) == 0);
	t_say("10 ticks in threads, value %d", value);

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_signal;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGRTMIN + 3, &sa, NULL) == 0);
	sigemptyset(&block);
	sigaddset(&block, SIGRTMIN + 3);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &block, &wait));
	sigdelset(&wait, SIGRTMIN + 3);
	se.sigev_notify = SIGEV_SIGNAL;
	se.sigev_signo = SIGRTMIN + 3;
	se.sigev_value.sival_int = 43;
	CHECK(timer_create(CLOCK_MONOTONIC, &se, &t) == 0);
	CHECK(timer_settime(t, 0, &it, NULL) == 0);
	while (hits < 5)
		CHECK_ERR(sigsuspend(&wait), EINTR);
	CHECK(timer_delete(t) == 0);
	CHECK(overrun_ok);
	t_say("5 signals");
	return 0;
}
