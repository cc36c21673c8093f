/*
 * Real-time signals of one number, sent to the process, are handled in the order in which
 * they were sent, though a thread that opens its mask for them closes it again first, in the
 * handler of another one: with a timer that sends this number to one thread, and without.
 *
 * t-case: timer
 * t-case: none
 */
#include <time.h>
#include "t.h"

enum { NUMBER = 37, SENT = 4 }; /* above SIGRTMIN */

static sigset_t both;

static void on_queued(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	t_say("value %d", info->si_value.sival_int);
}

static void on_other(int sig)
{
	sigset_t set;

	(void)sig;
	CHECK(sigpending(&set) == 0);
	t_say("other one, pends %d", sigismember(&set, NUMBER));
}

static void make_timer(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = NUMBER };
	timer_t timer;

	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
}

static void *run(void *how)
{
	if (!strcmp(how, "timer"))
		make_timer();
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i <= SENT; i++) {
			CHECK(sigqueue(getpid(), NUMBER,
				       (union sigval){ i }) == 0);
			if (i == round)
				CHECK(kill(getpid(), SIGUSR1) == 0);
		}
		CHECK(kill(getpid(), SIGUSR1) == 0);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
		CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction queued = { .sa_sigaction = on_queued,
				    .sa_flags = SA_SIGINFO };
	struct sigaction other = { .sa_handler = on_other };

	CHECK(SIGRTMIN < NUMBER);
	sigemptyset(&both);
	sigaddset(&both, NUMBER);
	sigaddset(&both, SIGUSR1);
	sigaddset(&other.sa_mask, NUMBER);
	CHECK(sigaction(NUMBER, &queued, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &other, NULL) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	t_join(t_thread(run, argc > 1 ? argv[1] : "timer"));
	return 0;
}
