/*
 * What exec keeps: the mask, pending signals, ignored ones; handlers fall
 * back to default. The program runs itself again with an argument.
 * t-no-stats: the second image has its own counters
 */
#include "t.h"

static void on_sig(int sig)
{
	(void)sig;
	t_say("never here");
}

static int second_image(void)
{
	struct sigaction sa;
	sigset_t now;

	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1) == 1);
	CHECK(sigismember(&now, SIGUSR2) == 0);
	CHECK(sigismember(&now, SIGTERM) == 0);
	CHECK(sigpending(&now) == 0);
	CHECK(sigismember(&now, SIGUSR1) == 1);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0);
	CHECK(sa.sa_handler == SIG_IGN);
	CHECK(sigaction(SIGTERM, NULL, &sa) == 0);
	CHECK(sa.sa_handler == SIG_DFL);
	t_say("second image: mask, pending, ignored as they were");
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc > 1)
		return second_image();
	t_be_threaded();
	t_handle(SIGUSR1, on_sig, 0);
	t_handle(SIGTERM, on_sig, 0);
	t_handle(SIGUSR2, SIG_IGN, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(kill(getpid(), SIGUSR1) == 0);
	execl("/proc/self/exe", argv[0], "second", (char *)NULL);
	return 1;
}
