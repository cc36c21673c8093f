/*
 * A timer's signal to one thread, which all block, pends at that thread alone: another one
 * neither sees nor accepts it, also while it waits, and the thread's own mask has it when
 * it opens. What the process has of the same number, others accept. From Linux 6.13 on
 * what a timer has sent is dropped when it is set anew or deleted.
 *
 * t-case: usr1
 * t-case: rt
 * t-case: usr1 open
 * t-case: rt open
 */
#include "t.h"
#include <stdbool.h>

static int sig;
static sigset_t set;
static timer_t timer;
static sem_t go, done;
static pthread_t owner;
static volatile int hits;

static void on_signal(int number, siginfo_t *info, void *uc)
{
	(void)uc;
	CHECK(number == sig && pthread_equal(pthread_self(), owner));
	hits += info->si_code == SI_TIMER;
}

static bool pends(void)
{
	sigset_t pending;

	CHECK(sigpending(&pending) == 0);
	return sigismember(&pending, sig);
}

/* 0: none. */
static int accept_within(long long ns)
{
	struct timespec ts = t_ts(ns);
	siginfo_t info;

	if (sigtimedwait(&set, &info, &ts) == sig)
		return info.si_code;
	CHECK(errno == EAGAIN);
	return 0;
}

static void make(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = sig };

	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
}

static void expire(void)
{
	struct itimerspec it = { .it_value = { 0, 1 } };

	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	do
		CHECK(timer_gettime(timer, &it) == 0);
	while (it.it_value.tv_sec || it.it_value.tv_nsec);
	while (!pends())
		t_settle();
}

static void others_turn(void)
{
	CHECK(sem_post(&done) == 0);
	CHECK(sem_wait(&go) == 0);
}

/* After what makes it void; whether it does, older kernels see otherwise. */
static void voided(const char *how)
{
	bool pending = pends();
	int got = accept_within(0);

	t_say("%s: pends %d, accepted %d, pends %d", how, pending, got,
	      pends());
}

static void *thread(void *arg)
{
	const struct itimerspec never = { .it_value = { 0, 0 } };

	owner = pthread_self();
	make();
	expire();
	others_turn();
	t_say("own: %d", accept_within(0) == SI_TIMER);
	expire();
	others_turn();
	t_say("after another has waited: pends %d", pends());
	t_say("and is accepted: %d", accept_within(0) == SI_TIMER);
	expire();
	others_turn();
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	t_say("handled: %d", hits);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	expire();
	CHECK(timer_settime(timer, 0, &never, NULL) == 0);
	voided("set");
	expire();
	CHECK(timer_settime(timer, 0, &never, NULL) == 0);
	expire();
	t_say("set, and again: %d", accept_within(0) == SI_TIMER);
	expire();
	CHECK(timer_delete(timer) == 0);
	voided("deleted");
	return arg;
}

static void *open_for_it(void *arg)
{
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };
	pthread_t t;

	sig = !strcmp(argv[1], "rt") ? SIGRTMIN + 3 : SIGUSR1;
	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(sem_init(&go, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	CHECK(sigaction(sig, &sa, NULL) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t = t_thread(thread, NULL);
	/* One that has it open gets nothing either. */
	if (argc > 2)
		t_thread(open_for_it, NULL);
	CHECK(sem_wait(&done) == 0);
	t_say("for another: pends %d", pends());
	t_say("accepted %d", accept_within(0));
	CHECK(sem_post(&go) == 0 && sem_wait(&done) == 0);
	t_say("who waits: %d", accept_within(20 * T_MS));
	CHECK(sem_post(&go) == 0 && sem_wait(&done) == 0);
	if (argc == 2) {
		CHECK(kill(getpid(), sig) == 0);
		t_say("the process's: pends %d", pends());
		t_say("and is accepted: %d", accept_within(0) == SI_USER);
		t_say("it was all: %d", !pends());
	}
	CHECK(sem_post(&go) == 0);
	t_join(t);
	return 0;
}
