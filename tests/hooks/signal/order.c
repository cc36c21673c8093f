/*
 * Handlers of signals that are pending together run in the kernel's order: the
 * frames lie on each other, so the last one begins first.
 * t-case: unblock
 * t-case: suspend
 * t-case: masked
 * t-case: process
 */
#include "t.h"

static int seen[16], n, depth, deepest;

static void on_sig(int sig)
{
	int d = ++depth;

	if (d > deepest)
		deepest = d;
	seen[n++] = sig;
	/* A call in a handler lets nobody in who is blocked here. */
	sched_yield();
	depth--;
}

static void *run(void *arg)
{
	const char *how = arg;
	static const int sigs[] = { SIGUSR2, SIGHUP, SIGUSR1, SIGTERM };
	sigset_t all, none;
	union sigval v = { 0 };

	sigfillset(&all);
	sigemptyset(&none);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		if (how[0] == 'p')
			CHECK(kill(getpid(), sigs[i]) == 0);
		else
			CHECK_0(pthread_kill(pthread_self(), sigs[i]));
	}
	CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 2, v));
	CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 2, v));
	if (how[0] == 's')
		CHECK_ERR(sigsuspend(&none), EINTR);
	else
		CHECK_0(pthread_sigmask(SIG_SETMASK, &none, NULL));
	return arg;
}

int main(int argc, char **argv)
{
	static const int sigs[] = { SIGUSR2, SIGHUP, SIGUSR1, SIGTERM };
	struct sigaction sa;
	sigset_t all;

	CHECK(argc == 2);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_sig;
	if (argv[1][0] == 'm')
		sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(sigaction(sigs[i], &sa, NULL) == 0);
	CHECK(sigaction(SIGRTMIN + 2, &sa, NULL) == 0);
	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	t_join(t_thread(run, argv[1]));
	for (int i = 0; i < n; i++)
		t_say("%d",
		      seen[i] >= SIGRTMIN ? 100 + seen[i] - SIGRTMIN : seen[i]);
	t_say("%d deep", deepest);
	return 0;
}
