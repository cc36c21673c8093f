/*
 * A thread under a filter opens its mask: what pends for the process is handled before
 * that call returns, whoever has sent it.
 */
#include "t.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define ROUNDS 50

static volatile int came;
static sigset_t set;

static void handler(int sig)
{
	(void)sig;
	came++;
}

static void install(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static void send_by_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	t_wait_ok(pid);
}

static void *run(void *arg)
{
	sigset_t open;

	install();
	CHECK(sigemptyset(&open) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		came = 0;
		if (i % 2)
			send_by_child();
		else
			CHECK(kill(getpid(), SIGUSR1) == 0);
		CHECK(came == 0);
		if (i % 4 < 2) {
			CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
			CHECK(came == 1);
			CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		} else {
			CHECK_ERR(sigsuspend(&open), EINTR);
			CHECK(came == 1);
		}
	}
	return arg;
}

int main(void)
{
	CHECK(sigemptyset(&set) == 0);
	CHECK(sigaddset(&set, SIGUSR1) == 0);
	t_handle(SIGUSR1, handler, 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_join(t_thread(run, NULL));
	t_say("%d rounds", ROUNDS);
	return 0;
}
