/* SIGCHLD and waitpid: handler, sigwait, ignored, blocked waiters. */
#include "t.h"

static volatile int hits;

static void on_child(int sig)
{
	(void)sig;
	hits++;
}

static pid_t child(int code)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(code);
	return pid;
}

int main(void)
{
	sigset_t set, old, wait;
	siginfo_t si;
	int st, sum = 0;
	pid_t pid;

	t_be_threaded();
	t_handle(SIGCHLD, on_child, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	wait = old;
	for (int i = 0; i < 10; i++) {
		int before = hits;

		pid = child(i);
		while (hits == before)
			CHECK_ERR(sigsuspend(&wait), EINTR);
		CHECK(waitpid(pid, &st, WNOHANG) == pid);
		sum += WEXITSTATUS(st);
	}
	t_say("handler: %d", sum);
	for (int i = 0; i < 10; i++) {
		pid = child(i);
		CHECK(sigwaitinfo(&set, &si) == SIGCHLD);
		CHECK(si.si_code == CLD_EXITED);
		CHECK(si.si_pid == pid);
		CHECK(si.si_status == i);
		CHECK(waitpid(pid, &st, 0) == pid);
	}
	t_say("sigwaitinfo");
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	t_handle(SIGCHLD, SIG_IGN, 0);
	pid = child(1);
	CHECK_ERR(waitpid(pid, &st, 0), ECHILD);
	t_say("ignored: reaped by themselves");
	t_handle(SIGCHLD, SIG_DFL, 0);
	pid = child(4);
	st = t_wait(pid);
	t_say("default: %d", WEXITSTATUS(st));
	CHECK_ERR(waitpid(-1, &st, 0), ECHILD);
	return 0;
}
