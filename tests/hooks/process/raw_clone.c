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

#define CLONE3(args, size) syscall(SYS_clone3, args, (size_t)(size))

/* What the kernel refuses, in a process with threads or in its child. */
static void refused(void)
{
	struct clone_args big[2], *a = &big[0];
	char *volatile where = (char *)16, *wild = where;

	memset(big, 0, sizeof(big));
	CHECK_ERR(CLONE3(NULL, sizeof(*a)), EFAULT);
	CHECK_ERR(CLONE3(wild, sizeof(*a)), EFAULT);
	CHECK_ERR(CLONE3(wild, 8), EINVAL);
	CHECK_ERR(CLONE3(wild, 8192), E2BIG);
	((char *)big)[sizeof(*a)] = 1;
	CHECK_ERR(CLONE3(a, sizeof(big)), E2BIG);
	a->stack = 4096;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
	a->stack = 0;
	a->stack_size = 4096;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
	a->stack = 1ull << 60;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
	a->stack = a->stack_size = 0;
	a->exit_signal = 1000;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
	a->exit_signal = SIGCHLD;
	a->flags = CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
	a->exit_signal = 0;
	a->flags = CLONE_THREAD;
	CHECK_ERR(CLONE3(a, sizeof(*a)), EINVAL);
}

/* A child that dies of a stack that is not there. */
static void stack_nowhere(void)
{
	struct clone_args a = { .exit_signal = SIGCHLD,
				.stack = 4096,
				.stack_size = 4096 };
	int st;

	st = t_wait((pid_t)CLONE3(&a, sizeof(a)));
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGSEGV);
}

/* As vfork(), with the parent's own stack: no word of it may be touched. */
static pid_t clone_as_vfork(int status)
{
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
	long pid = SYS_clone;

	__asm__ volatile(
		"syscall\n\t"
		"test %%rax, %%rax\n\t"
		"jnz 1f\n\t"
		"mov %[status], %%edi\n\t"
		"mov %[exit], %%eax\n\t"
		"syscall\n"
		"1:"
		: "+a"(pid)
		: "D"(CLONE_VM | CLONE_VFORK | SIGCHLD), "S"(0), "d"(0),
		  "r"(r10),
		  "r"(r8), [status] "b"(status), [exit] "i"(SYS_exit_group)
		: "rcx", "r11", "memory");
	return (pid_t)pid;
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
	st = t_wait(clone_as_vfork(14));
	CHECK(WEXITSTATUS(st) == 14);
	refused();
	stack_nowhere();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		refused();
		_exit(0);
	}
	t_wait_ok(pid);
	t_say("refused, and a child that has no stack");
	t_join(t_thread(t_nothing, NULL));
	t_say("raw clone as fork, and as vfork");
	return 0;
}
