/*
 * What pends of the signals that faults raise, for a thread and for the process, does
 * so after an exec that fails, and in the next program.
 * t-no-stats: the second image has its own counters
 */
#include "t.h"

static void tell(const char *where)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	for (int sig = 1; sig < 32; sig++)
		if (sigismember(&set, sig))
			t_say("%s: %d pends", where, sig);
}

int main(int argc, char **argv)
{
	sigset_t all;

	if (argc > 1) {
		tell("the next program");
		t_be_threaded();
		tell("and its threads");
		return 0;
	}
	t_be_threaded();
	CHECK(sigfillset(&all) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	CHECK(kill(getpid(), SIGSEGV) == 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK_0(pthread_kill(pthread_self(), SIGBUS));
	CHECK_0(pthread_kill(pthread_self(), SIGUSR2));
	tell("before");
	CHECK(execl("/nonexistent", argv[0], (char *)NULL) == -1);
	tell("after none");
	execl("/proc/self/exe", argv[0], "second", (char *)NULL);
	return 1;
}
