/*
 * Signals that are pending for the thread which execs, and for the process,
 * are so in the new image; a failed exec neither loses nor doubles one.
 * t-case: main => exit 12
 * t-case: thread => exit 12
 * t-no-stats: the second image has its own counters
 */
#include "t.h"

static void add(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
	sigaddset(set, SIGRTMIN + 3);
}

static int count(int sig)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t set;
	int n = 0;

	sigemptyset(&set);
	sigaddset(&set, sig);
	while (sigtimedwait(&set, &info, &now) == sig) {
		CHECK(info.si_pid == getpid());
		if (sig == SIGRTMIN + 3)
			t_say("value %d, code %d", info.si_value.sival_int,
			      info.si_code);
		n++;
	}
	return n;
}

static int second_image(void)
{
	struct sigaction sa;
	sigset_t set, now;

	add(&set);
	CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1) == 1);
	CHECK(sigismember(&now, SIGTERM) == 0);
	CHECK(sigaction(SIGSEGV, NULL, &sa) == 0);
	CHECK(sa.sa_handler == SIG_IGN);
	CHECK(sigaction(SIGBUS, NULL, &sa) == 0);
	CHECK(sa.sa_handler == SIG_DFL);
	CHECK(sigpending(&now) == 0);
	t_say("pending %d %d %d", sigismember(&now, SIGUSR1),
	      sigismember(&now, SIGUSR2), sigismember(&now, SIGRTMIN + 3));
	t_say("%d %d %d", count(SIGUSR1), count(SIGUSR2), count(SIGRTMIN + 3));
	return 12;
}

static void *execs(void *arg)
{
	union sigval v;

	CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
	CHECK(kill(getpid(), SIGUSR2) == 0);
	for (v.sival_int = 1; v.sival_int <= 3; v.sival_int++)
		CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 3, v));
	for (int i = 0; i < 3; i++)
		CHECK_ERR(execl("/nonexistent", "x", (char *)NULL), ENOENT);
	execl("/proc/self/exe", arg, "second", (char *)NULL);
	return NULL;
}

static void on_bus(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	sigset_t set;

	CHECK(argc == 2);
	if (!strcmp(argv[1], "second"))
		return second_image();
	add(&set);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
	t_handle(SIGBUS, on_bus, 0);
	t_be_threaded();
	if (argv[1][0] == 'm')
		execs(argv[0]);
	else
		t_join(t_thread(execs, argv[0]));
	return 1;
}
