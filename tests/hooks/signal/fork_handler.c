/*
 * A handler that a call's end runs forks. In the child, when it has returned, the mask
 * is what it was, and the handler runs again.
 *
 * t-case: sleep
 * t-case: suspend
 * t-case: raise
 */
#include "../calls.h"

static volatile sig_atomic_t ran;
static pid_t child, parent;

static void on_usr1(int sig)
{
	(void)sig;
	ran++;
	if (ran == 1 && getpid() == parent)
		child = fork();
}

static void say_mask(const char *who)
{
	sigset_t now;

	CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &now));
	for (int sig = 1; sig < 32; sig++)
		if (sigismember(&now, sig) > 0)
			t_say("%s: %d is blocked", who, sig);
}

static long interrupted(void *arg)
{
	struct timespec ts = { 30, 0 };
	sigset_t usr2, none;

	sigemptyset(&none);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &usr2, NULL));
	if (!strcmp(arg, "sleep"))
		CHECK_ERR(nanosleep(&ts, NULL), EINTR);
	else if (!strcmp(arg, "suspend"))
		CHECK_ERR(sigsuspend(&none), EINTR);
	else
		CHECK_0(raise(SIGUSR1));
	if (getpid() == parent)
		return 0;
	say_mask("child");
	CHECK_0(raise(SIGUSR1));
	t_say("child: handled %d", (int)ran);
	_exit(3);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_usr1 };
	struct t_call c;
	int status;

	CHECK(argc == 2);
	parent = getpid();
	sigaddset(&sa.sa_mask, SIGINT);
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	t_be_threaded();
	t_begin(&c, interrupted, argv[1]);
	if (strcmp(argv[1], "raise"))
		CHECK_0(pthread_kill(c.th, SIGUSR1));
	CHECK(t_end(&c) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	t_say("it ended with %d", WEXITSTATUS(status));
	return 0;
}
