/* system() from main and threads: status, output, signals put back. */
#include "t.h"

enum { N = 6 };

static void *run(void *arg)
{
	int st = system("exit 3");

	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 3);
	CHECK(system(NULL) != 0);
	st = system("kill -9 $$");
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	st = system("test -z \"$FIBHOOK_NOTHING\"");
	CHECK(st == 0);
	return arg;
}

int main(void)
{
	struct sigaction sa;
	sigset_t now;
	pthread_t th[N];

	run(NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(run, NULL);
	run(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(sigaction(SIGINT, NULL, &sa) == 0);
	CHECK(sa.sa_handler == SIG_DFL);
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGCHLD) == 0);
	CHECK(system("echo from the shell") == 0);
	t_say("main and %d threads", N);
	return 0;
}
