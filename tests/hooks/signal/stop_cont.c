/* SIGSTOP and SIGCONT on a threaded child, seen by waitpid. */
#include "t.h"

static int up[2], down[2];
static volatile int conts;

static void on_cont(int sig)
{
	(void)sig;
	conts++;
}

static void *serve(void *arg)
{
	sigset_t all;
	char c;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	while (read(down[0], &c, 1) == 1)
		t_put(up[1], c);
	return arg;
}

static void child(void)
{
	pthread_t th;

	t_close(down[1]);
	t_handle(SIGCONT, on_cont, 0);
	th = t_thread(serve, NULL);
	t_put(up[1], 'r');
	while (conts < 3)
		pause();
	t_put(up[1], 'c');
	t_join(th);
	_exit(5);
}

int main(void)
{
	int st, done = 0;
	pid_t pid;
	char c;

	t_be_threaded();
	t_pipe(up);
	t_pipe(down);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child();
	t_close(down[0]);
	CHECK(t_get(up[0]) == 'r');
	for (int i = 0; i < 3; i++) {
		CHECK(kill(pid, SIGSTOP) == 0);
		CHECK(waitpid(pid, &st, WUNTRACED) == pid);
		CHECK(WIFSTOPPED(st));
		t_put(down[1], 'x');
		CHECK(kill(pid, SIGCONT) == 0);
		CHECK(waitpid(pid, &st, WCONTINUED) == pid);
		CHECK(WIFCONTINUED(st));
		while ((c = t_get(up[0])) != 'x')
			done |= c == 'c';
	}
	/* Signals that were sent while it was stopped may have met. */
	while (!done) {
		struct pollfd pf = { up[0], POLLIN, 0 };

		if (poll(&pf, 1, 5) == 1)
			done = t_get(up[0]) == 'c';
		else
			CHECK(kill(pid, SIGCONT) == 0);
	}
	t_close(down[1]);
	st = t_wait(pid);
	t_say("stopped and continued, exit %d", WEXITSTATUS(st));
	return 0;
}
