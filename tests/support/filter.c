/*
 * Run a command under a seccomp filter.
 *
 *	filter ACTION [only] CALL[,CALL...] COMMAND [ARGS]
 *
 * The calls that are named get ACTION; with "only", all others do, but for
 * execve, which starts the command. ACTION is kill (the process), thread (kill
 * it alone), trap, or the name of an errno. A call is named as in
 * /usr/include/asm/unistd_64.h, of which the build makes filter_calls.h, or by its
 * number. Exit status 125: something is wrong with these arguments, or filters
 * cannot be had.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "old.h"

#define MAX_CALLS 200

static const struct {
	const char *name;
	int nr;
} calls[] = {
#define CALL(name, nr) { #name, nr },
#include "filter_calls.h"
};

static void usage(const char *what, const char *arg)
{
	fprintf(stderr, "filter: %s%s\n", what, arg);
	exit(125);
}

static unsigned action_of(const char *name)
{
	if (!strcmp(name, "kill"))
		return SECCOMP_RET_KILL_PROCESS;
	if (!strcmp(name, "thread"))
		return SECCOMP_RET_KILL_THREAD;
	if (!strcmp(name, "trap"))
		return SECCOMP_RET_TRAP;
	for (int e = 1; e < 134; e++)
		if (strerrorname_np(e) && !strcmp(name, strerrorname_np(e)))
			return SECCOMP_RET_ERRNO | (unsigned)e;
	usage("no such action: ", name);
	return 0;
}

static unsigned number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			return (unsigned)calls[i].nr;
	if (*name < '0' || *name > '9')
		usage("no such call: ", name);
	return (unsigned)atoi(name);
}

int main(int argc, char **argv)
{
	static struct sock_filter f[MAX_CALLS + 4];
	struct sock_fprog prog = { .filter = f };
	unsigned short n = 0, k = 0, nr[MAX_CALLS];
	unsigned listed, others = SECCOMP_RET_ALLOW;
	char **arg = argv + 1;

	if (argc < 4)
		usage("ACTION [only] CALL,... COMMAND", "");
	listed = action_of(*arg++);
	if (!strcmp(*arg, "only")) {
		others = listed;
		listed = SECCOMP_RET_ALLOW;
		nr[n++] = SYS_execve;
		arg++;
	}
	for (char *c = strtok(*arg++, ","); c; c = strtok(NULL, ",")) {
		if (n == MAX_CALLS)
			usage("too many calls", "");
		nr[n++] = (unsigned short)number_of(c);
	}
	f[k++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned short i = 0; i < n; i++)
		f[k++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, nr[i],
			(unsigned char)(n - i), 0);
	f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	prog.len = k;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		usage("no filter: ", strerror(errno));
	execvp(*arg, arg);
	usage("cannot run ", *arg);
}
