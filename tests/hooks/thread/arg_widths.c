/*
 * Arguments have all their bits: of what is a long for the kernel, the upper
 * half counts; of what is an int, it does not.
 */
#include <sched.h>
#include <sys/ptrace.h>
#include "t.h"

#define HIGH (1l << 32)

static void *widths(void *arg)
{
	long page = syscall(SYS_mmap, 0, 4096, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pid;

	CHECK(page > 0);
	CHECK_ERR(syscall(SYS_mprotect, page, 4096, HIGH | PROT_READ), EINVAL);
	CHECK_ERR(syscall(SYS_mremap, page, 4096, 8192, HIGH, 0), EINVAL);
	CHECK_ERR(syscall(SYS_unshare, HIGH), EINVAL);
	CHECK(syscall(SYS_unshare, 0) == 0);
	CHECK(syscall(SYS_getpriority, HIGH, HIGH) > 0);
	CHECK(syscall(SYS_dup, HIGH | 99999) == -1 && errno == EBADF);
	CHECK(syscall(SYS_clock_getres, HIGH | CLOCK_REALTIME, NULL) == 0);
	pid = (int)syscall(SYS_clone, HIGH | SIGCHLD, 0, 0, 0, 0);
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(3);
	CHECK(syscall(SYS_wait4, HIGH | pid, NULL, 0, NULL) == pid);
	/* No thread of the process is to be traced by another. */
	CHECK_ERR(ptrace(PTRACE_ATTACH, gettid(), 0, 0), EPERM);
	CHECK_ERR(ptrace(PTRACE_ATTACH, getpid(), 0, 0), EPERM);
	return arg;
}

int main(void)
{
	t_join(t_thread(widths, NULL));
	t_say("as wide as the kernel's");
	return 0;
}
