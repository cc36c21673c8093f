/*
 * A child that is to send another signal than SIGCHLD when it ends: the thread that has
 * made it has that, before its wait for the child is over.
 */
#include "t.h"

enum { TIMES = 20 };

static __thread int own;
static volatile int who;

static void handler(int sig)
{
	(void)sig;
	who = own;
}

static int child(void *arg)
{
	return t_get(*(int *)arg) != 'x';
}

static void make(int hold[2], int sig, int with_memory)
{
	static char stack[65536];
	pid_t pid;
	int st;

	who = 0;
	if (with_memory) {
		pid = clone(child, stack + sizeof(stack), CLONE_VM | sig, hold);
	} else {
		pid = (pid_t)syscall(SYS_clone, sig, 0, 0, 0, 0);
		if (pid == 0)
			_exit(child(hold));
	}
	CHECK(pid > 0);
	t_put(hold[1], 'x');
	while (waitpid(pid, &st, __WALL) != pid)
		CHECK(errno == EINTR);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 0);
	CHECK(who == own);
}

static void *run(void *arg)
{
	int hold[2];

	own = (int)(intptr_t)arg;
	t_pipe(hold);
	for (int i = 0; i < TIMES; i++)
		make(hold, i % 2 ? SIGUSR1 : SIGRTMIN, i & 2);
	return NULL;
}

int main(void)
{
	t_handle(SIGUSR1, handler, SA_RESTART);
	t_handle(SIGRTMIN, handler, SA_RESTART);
	t_be_threaded();
	for (int i = 2; i < 4; i++)
		t_join(t_thread(run, (void *)(intptr_t)i));
	run((void *)1);
	t_say("its maker");
	return 0;
}
