/*
 * Runs a program in a process whose memory may never become executable after
 * it was mapped (PR_SET_MDWE). With P_IMAGES, it may not write to /proc/self/mem
 * either (a filter refuses pwrite64, which nothing else here needs), and the
 * rewriter has to map images of the text.
 * Exit status 77: this kernel has no such thing.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static int refuse_pwrite(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(*f), f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

int main(int argc, char **argv)
{
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)) {
		printf("no PR_SET_MDWE\n");
		return 77;
	}
	if (argc < 3 || (getenv("P_IMAGES") && refuse_pwrite()))
		return 1;
	setenv("LD_PRELOAD", argv[1], 1);
	execvp(argv[2], argv + 2);
	return 1;
}
