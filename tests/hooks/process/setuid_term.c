/*
 * setuid() waits for a thread that is in vfork, and SIGTERM ends the process.
 *
 * t-expect: signal TERM
 * t-no-stats: it is killed
 */
#include "t.h"

static int never[2], in_child[2];

static void *forks(void *arg)
{
	pid_t pid = vfork();

	if (pid == 0) {
		close(never[1]);
		(void)!write(in_child[1], "x", 1);
		/* Until the process has ended. */
		_exit((int)read(never[0], arg, 1));
	}
	t_die(__FILE__, __LINE__, "the child had left", 0);
}

int main(void)
{
	static char c;

	t_pipe(never);
	t_pipe(in_child);
	t_thread(forks, &c);
	t_get(in_child[0]);
	t_say("changes");
	if (fork() == 0) {
		close(never[1]);
		t_settle();
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	setuid(getuid());
	/* A kernel that lets the thread make the change is as good. */
	t_die(__FILE__, __LINE__, "setuid() returned", 0);
}
