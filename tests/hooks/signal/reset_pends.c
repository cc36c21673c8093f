/*
 * SA_RESETHAND of a signal that is ignored by default: one that was sent to the process pends
 * on when one that was sent to the thread has been handled, until its turn comes.
 */
#include "t.h"

static int number;

static int pends(void)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, number);
}

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	t_say("signal %d, code %d, pends %d", sig, info->si_code, pends());
}

static void *run(void *unused)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | (int)SA_RESETHAND };
	struct sigaction now;
	struct timespec zero = { 0, 0 };
	siginfo_t info;
	sigset_t set, none;

	(void)unused;
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, number);
	for (int again = 0; again < 2; again++) {
		CHECK(sigaction(number, &sa, NULL) == 0);
		CHECK(kill(getpid(), number) == 0);
		CHECK(raise(number) == 0);
		CHECK_ERR(ppoll(NULL, 0, &zero, &none), EINTR);
		CHECK(sigaction(number, NULL, &now) == 0);
		t_say("%d: pends %d, default %d", number, pends(),
		      now.sa_handler == SIG_DFL);
		if (again)
			t_say("accepts %d", sigtimedwait(&set, &info, &zero));
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		t_say("pends %d", pends());
	}
	return NULL;
}

int main(void)
{
	const int numbers[] = { SIGCHLD, SIGURG, SIGWINCH, SIGCONT };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < T_LEN(numbers); i++)
		sigaddset(&set, numbers[i]);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (unsigned i = 0; i < T_LEN(numbers); i++) {
		number = numbers[i];
		t_join(t_thread(run, NULL));
	}
	return 0;
}
