/*
 * Processes in all the ways that libc starts them, vfork with its shared stack
 * among them: results, errors, signal masks.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t pid)
{
	int st;

	if (pid < 0 || waitpid(pid, &st, 0) != pid)
		return -1;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

__attribute__((noinline)) static pid_t vfork_in_depth(int depth)
{
	volatile char pad[128];
	pid_t pid;

	memset((char *)pad, depth, sizeof(pad));
	if (depth)
		return vfork_in_depth(depth - 1) + (pad[5] - depth);
	pid = vfork();
	if (pid == 0) {
		/* Writes where the parent will return. */
		char scratch[64];

		snprintf(scratch, sizeof(scratch), "exit %d", 17);
		execl("/bin/sh", "sh", "-c", scratch, NULL);
		_exit(127);
	}
	return pid;
}

static void masks(void)
{
	sigset_t set, got;
	void (*more)(uint64_t);
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	/* A mask that differs from the kernel's, or natively does not. */
	more = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "passthru_vfork_mask");
	if (more)
		more(1 << (SIGQUIT - 1));
	else
		sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_SETMASK, &set, NULL);
	pid = vfork();
	if (pid == 0) {
		unsigned bits = 0;

		sigprocmask(SIG_BLOCK, NULL, &got);
		for (int i = 1; i < 32; i++)
			bits += (unsigned)sigismember(&got, i) * (unsigned)i;
		_exit((int)bits);
	}
	printf("mask in the child %d\n", status_of(pid));
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	if (more)
		more(0);
}

static int cloned(void *arg)
{
	return *(int *)arg + 1;
}

/* From here on vfork, and clone, fail. */
static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
	};
	struct sock_fprog prog = { 4, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		printf("no seccomp\n");
}

int main(void)
{
	char *argv[] = { "sh", "-c", "exit 5", NULL }, line[64] = "";
	posix_spawnattr_t attr;
	sigset_t set;
	pid_t pid;
	FILE *f;
	static char stack[65536];
	int value = 41;

	printf("system %d\n", WEXITSTATUS(system("exit 3")));
	f = popen("echo piped", "r");
	printf("popen %s", f && fgets(line, sizeof(line), f) ? line : "-\n");
	printf("pclose %d\n", pclose(f));

	posix_spawnattr_init(&attr);
	sigfillset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, "/bin/sh", NULL, &attr, argv, environ))
		return 1;
	printf("spawn %d\n", status_of(pid));
	printf("spawn of nothing: %s\n",
	       strerror(posix_spawn(&pid, "/nowhere", NULL, NULL, argv,
				    environ)));

	for (int i = 0; i < 50; i++)
		if (status_of(vfork_in_depth(i % 8)) != 17)
			printf("vfork failed\n");
	masks();
	pid = clone(cloned, stack + sizeof(stack), SIGCHLD, &value);
	printf("clone %d\n", status_of(pid));
	pid = clone(cloned, stack + sizeof(stack), CLONE_VM | SIGCHLD, &value);
	printf("clone with memory shared %d\n", status_of(pid));
	pid = fork();
	if (!pid)
		_exit(9);
	printf("fork %d\n", status_of(pid));
	forbid();
	errno = 0;
	pid = vfork();
	if (!pid)
		_exit(1);
	printf("forbidden vfork %d: %s\n", pid, strerror(errno));
	return 0;
}
