/*
 * What the program ignores of the signals that faults raise, its children ignore, by
 * vfork() and posix_spawn() as well, and what they exec; and a child by vfork() finds
 * its other actions as they are.
 * t-no-stats: the second image has its own counters
 */
#include "t.h"
#include <spawn.h>

extern char **environ;

static void on_ill(int sig)
{
	(void)sig;
}

static int ignored(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

static int exec_status(void)
{
	return ignored(SIGFPE) && ignored(SIGTRAP) && !ignored(SIGILL) &&
			       !ignored(SIGSEGV) && ignored(SIGHUP) ?
		       40 :
		       41;
}

/* 0, or the number of the first that is not as it should be. */
static int look(void)
{
	struct sigaction sa;

	if (!ignored(SIGFPE))
		return SIGFPE;
	if (!ignored(SIGTRAP))
		return SIGTRAP;
	if (!ignored(SIGHUP))
		return SIGHUP;
	if (sigaction(SIGILL, NULL, &sa) != 0 || sa.sa_handler != on_ill)
		return SIGILL;
	if (sigaction(SIGSEGV, NULL, &sa) != 0 || sa.sa_handler != SIG_DFL)
		return SIGSEGV;
	/* Are they dropped? */
	kill(getpid(), SIGFPE);
	kill(getpid(), SIGTRAP);
	return 0;
}

static void *run(void *arg)
{
	char *argv[] = { "self", "again", NULL };
	pid_t pid;
	int st;

	pid = vfork();
	if (pid == 0)
		_exit(look());
	CHECK(pid > 0);
	t_wait_ok(pid);
	pid = vfork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	CHECK(pid > 0);
	st = t_wait(pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 40);
	CHECK_0(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	st = t_wait(pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 40);
	/* And the parent's are what they were. */
	CHECK(look() == 0);
	return arg;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return exec_status();
	CHECK(signal(SIGFPE, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGTRAP, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGHUP, SIG_IGN) != SIG_ERR);
	t_handle(SIGILL, on_ill, 0);
	t_join(t_thread(run, NULL));
	run(NULL);
	t_say("a thread and main");
	return 0;
}
