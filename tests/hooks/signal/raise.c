/* raise(), kill(getpid()), tgkill to oneself: handled before they return. */
#include "t.h"

static __thread volatile int mine;
static volatile int wrong, code;

static void on_sig(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	mine++;
	code = si->si_code;
	if (si->si_pid != getpid() || si->si_uid != getuid())
		wrong++;
}

static void *check(void *arg)
{
	mine = 0;
	for (int i = 0; i < 50; i++) {
		CHECK(raise(SIGUSR1) == 0);
		CHECK(mine == 2 * i + 1);
		CHECK(code == SI_TKILL);
		CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
		CHECK(mine == 2 * i + 2);
		sched_yield();
	}
	CHECK(mine == 100);
	return arg;
}

int main(void)
{
	struct sigaction sa;
	pthread_t th[6];
	sigset_t set, old;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_sig;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	check(NULL);
	t_be_threaded();
	/* main alone can take it: kill() has delivered it on return. */
	for (int i = 0; i < 50; i++) {
		int before = mine;

		CHECK(kill(getpid(), SIGUSR2) == 0);
		CHECK(mine == before + 1);
		CHECK(code == SI_USER);
	}
	t_say("main");
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(check, NULL);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	t_say("threads");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	mine = 0;
	for (int i = 0; i < 3; i++)
		CHECK(raise(SIGUSR1) == 0);
	CHECK(mine == 0);
	CHECK(sigpending(&set) == 0);
	CHECK(sigismember(&set, SIGUSR1) == 1);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(mine == 1);
	CHECK(wrong == 0);
	t_say("blocked: once, on unblocking");
	return 0;
}
