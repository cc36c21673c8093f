/* clone() and syscall(SYS_fork-like) by the program itself, without NPTL. */
#include "t.h"
#include <sched.h>
#include <linux/sched.h>

static char stack[65536] __attribute__((aligned(16)));
static volatile int shared;

static int in_clone(void *arg)
{
	shared = *(int *)arg;
	return 12;
}

int main(void)
{
	int x = 34, st;
	pid_t pid;

	t_be_threaded();
	/* Shares our memory, is no thread: a process of its own. */
	pid = clone(in_clone, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &x);
	CHECK(pid > 0);
	CHECK(shared == 34);
	st = t_wait(pid);
	CHECK(WEXITSTATUS(st) == 12);
	pid = clone(in_clone, stack + sizeof(stack), SIGCHLD, &x);
	CHECK(pid > 0);
	st = t_wait(pid);
	CHECK(WEXITSTATUS(st) == 12);
	t_say("clone with and without our memory");
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(13);
	st = t_wait(pid);
	CHECK(WEXITSTATUS(st) == 13);
	t_join(t_thread(t_nothing, NULL));
	t_say("raw clone as fork: %d", WEXITSTATUS(st));
	return 0;
}
