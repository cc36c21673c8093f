/*
 * A program that keeps its capabilities when it leaves root: what it does with
 * them afterwards succeeds, in threads that it creates then as well.
 */
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include "t.h"

static void *nothing(void *arg)
{
	return arg;
}

static void all_effective(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
						 0 };
	struct __user_cap_data_struct data[2];

	CHECK(!syscall(SYS_capget, &head, data));
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	CHECK(!syscall(SYS_capset, &head, data));
}

static void *later(void *arg)
{
	gid_t g[4];

	CHECK(getuid() == 65534 && geteuid() == 65534);
	CHECK(getgroups(4, g) == 1 && g[0] == 7);
	CHECK(!setgroups(2, (gid_t[]){ 8, 9 }));
	return arg;
}

int main(void)
{
	gid_t g[4];

	if (geteuid() != 0)
		t_skip("only root has capabilities to keep");
	t_join(t_thread(nothing, NULL));
	CHECK(!prctl(PR_SET_KEEPCAPS, 1));
	CHECK(!setresuid(65534, 65534, 65534));
	CHECK_ERR(setgroups(0, NULL), EPERM);
	all_effective();
	CHECK(!setgroups(1, (gid_t[]){ 7 }));
	CHECK(!setresgid(6, 6, 6));
	t_say("one thread: uid %d, gid %d", getuid(), getgid());
	t_join(t_thread(later, NULL));
	CHECK(getgroups(4, g) == 2 && g[0] == 8 && g[1] == 9);
	t_say("two threads: %d groups", getgroups(0, NULL));
	return 0;
}
