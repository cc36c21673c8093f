/*
 * A thread under a filter of its own has been there, and has ended. Then the last
 * thread restricts itself: it does not wait for anybody, and what it makes after
 * that is restricted as well.
 *
 * t-case: privs
 * t-case: filter
 * t-case: tsync
 */
#include "t.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

/* @nr fails with EDOM. */
static void deny(unsigned nr, unsigned flags)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) == 0);
}

static void *filtered(void *arg)
{
	deny(SYS_getppid, 0);
	CHECK_ERR(syscall(SYS_getppid), EDOM);
	return arg;
}

static void *looks(void *arg)
{
	t_say("no new privileges %d, getpgid %s",
	      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	      syscall(SYS_getpgid, 0) < 0 ? strerrorname_np(errno) : "works");
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "privs";

	for (int i = 0; i < 2; i++) {
		t_join(t_thread(filtered, NULL));
		if (how[0] == 'p')
			CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		else
			deny(SYS_getpgid,
			     how[0] == 't' ? SECCOMP_FILTER_FLAG_TSYNC : 0);
		looks(NULL);
		t_join(t_thread(looks, NULL));
	}
	return 0;
}
