/*
 * SIGCHLD that is ignored, and was blocked by the thread that has made the child when it came:
 * it pends until its turn, though that thread opens its mask at once. In the handler of a
 * signal that comes before it, and blocks it, it pends still.
 */
#include <sys/wait.h>
#include "t.h"

enum { ROUNDS = 150 };

static volatile int pended;

static void on_signal(int sig)
{
	sigset_t set;

	(void)sig;
	CHECK(sigpending(&set) == 0);
	pended += sigismember(&set, SIGCHLD);
}

static void *run(void *unused)
{
	sigset_t both, set;

	(void)unused;
	sigemptyset(&both);
	sigaddset(&both, SIGCHLD);
	sigaddset(&both, SIGTERM);
	for (int round = 1; round <= ROUNDS; round++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			CHECK(kill(getppid(), SIGTERM) == 0);
			_exit(0);
		}
		CHECK(waitpid(pid, NULL, 0) == pid);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
		CHECK(pended == round);
		CHECK(sigpending(&set) == 0 && !sigismember(&set, SIGCHLD));
		CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGCHLD);
	sigaddset(&both, SIGTERM);
	sigaddset(&sa.sa_mask, SIGCHLD);
	CHECK(sigaction(SIGTERM, &sa, NULL) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	t_join(t_thread(run, NULL));
	t_say("pended");
	return 0;
}
