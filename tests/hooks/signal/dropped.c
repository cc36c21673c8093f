/*
 * What is pending and dropped: stop signals by SIGCONT, SIGCONT by a stop
 * signal, and all by an action that ignores it, sent to a thread or to the
 * process, by the process or by another one.
 *
 * t-case: main
 * t-case: thread
 */
#include "t.h"

#define QUEUED 100

static void on_sig(int sig)
{
	(void)sig;
}

static int is_pending(int sig)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static void by_thread(int sig)
{
	CHECK_0(pthread_kill(pthread_self(), sig));
}

static void by_process(int sig)
{
	CHECK(kill(getpid(), sig) == 0);
}

static void by_child(int sig)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(kill(getppid(), sig) != 0);
	t_wait_ok(pid);
}

static void drop_all(void (*send)(int), const char *how)
{
	send(SIGTSTP);
	send(SIGTTIN);
	CHECK(is_pending(SIGTSTP));
	CHECK(is_pending(SIGTTIN));
	send(SIGCONT);
	CHECK(!is_pending(SIGTSTP));
	CHECK(!is_pending(SIGTTIN));
	CHECK(is_pending(SIGCONT));
	send(SIGTTOU);
	CHECK(!is_pending(SIGCONT));
	CHECK(is_pending(SIGTTOU));
	t_handle(SIGTTOU, SIG_IGN, 0);
	CHECK(!is_pending(SIGTTOU));
	t_handle(SIGTTOU, SIG_DFL, 0);
	CHECK(!is_pending(SIGTTOU));
	for (int i = 0; i < QUEUED; i++)
		send(SIGRTMIN);
	send(SIGUSR1);
	CHECK(is_pending(SIGRTMIN));
	CHECK(is_pending(SIGUSR1));
	t_handle(SIGRTMIN, SIG_IGN, 0);
	t_handle(SIGUSR1, SIG_IGN, 0);
	CHECK(!is_pending(SIGRTMIN));
	CHECK(!is_pending(SIGUSR1));
	t_handle(SIGRTMIN, on_sig, 0);
	t_handle(SIGUSR1, on_sig, 0);
	t_say("dropped, sent %s", how);
}

static void *check(void *arg)
{
	drop_all(by_thread, "to the thread");
	drop_all(by_process, "to the process");
	drop_all(by_child, "by a child");
	return arg;
}

int main(int argc, char **argv)
{
	static const int sigs[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT,
				    SIGUSR1 };
	sigset_t set;

	CHECK(argc == 2);
	sigemptyset(&set);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		sigaddset(&set, sigs[i]);
	sigaddset(&set, SIGRTMIN);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_handle(SIGCONT, on_sig, 0);
	t_handle(SIGRTMIN, on_sig, 0);
	t_handle(SIGUSR1, on_sig, 0);
	t_be_threaded();
	if (!strcmp(argv[1], "main"))
		check(NULL);
	else
		t_join(t_thread(check, NULL));
	return 0;
}
