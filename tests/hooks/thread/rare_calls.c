/*
 * Calls on a thread's own attributes that programs seldom make: what is there is
 * asked for and set again, and what is wrong is told, by a thread and by main.
 */
#include "t.h"
#include <sys/personality.h>
#include <sys/shm.h>
#include <sched.h>
#include <sys/fsuid.h>

#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

static void tell(const char *what, long r)
{
	if (r < 0)
		t_say("%s: %s", what, strerrorname_np(errno));
	else
		t_say("%s: %ld", what, r);
}

static void scheduling(void)
{
	struct sched_param p = { 0 };
	struct timespec ts;
	char attr[64] = "";

	tell("sched_setparam", sched_setparam(0, &p));
	p.sched_priority = 1;
	tell("sched_setparam, wrong", sched_setparam(0, &p));
	tell("sched_rr_get_interval", sched_rr_get_interval(0, &ts));
	tell("sched_getattr", syscall(SYS_sched_getattr, 0, attr, 48, 0));
	tell("sched_setattr", syscall(SYS_sched_setattr, 0, attr, 0));
	tell("sched_setattr, wrong", syscall(SYS_sched_setattr, 0, attr, 1));
	tell("ioprio_get", syscall(SYS_ioprio_get, 1, 0));
	tell("ioprio_set", syscall(SYS_ioprio_set, 1, 0, 0));
	tell("ioprio_set, wrong", syscall(SYS_ioprio_set, 1, 0, 1 << 30));
}

static void identity(void)
{
	tell("setfsuid", setfsuid(getuid()) - (long)getuid());
	tell("setfsgid", setfsgid(getgid()) - (long)getgid());
	tell("setgid", setgid(getgid()));
	tell("setreuid", setreuid((uid_t)-1, (uid_t)-1));
	tell("setregid", setregid((gid_t)-1, (gid_t)-1));
	tell("personality", personality(0xffffffff));
	tell("setns", syscall(SYS_setns, -1, 0));
	tell("landlock_restrict_self",
	     syscall(SYS_landlock_restrict_self, -1, 1u << 31));
	tell("lsm_set_self_attr",
	     syscall(SYS_lsm_set_self_attr, 0, NULL, 0, 1u << 31));
	tell("request_key",
	     syscall(SYS_request_key, "user", "t-no-such-key", NULL, 0));
}

static void ports(void)
{
	/* Nothing is to be had, and nothing changes. */
	tell("ioperm", syscall(SYS_ioperm, 0ul, 0ul, 0));
	tell("iopl, wrong", syscall(SYS_iopl, 4));
}

static void memory(void)
{
	char from[4] = "abc", to[4] = "";
	struct iovec f = { from, 4 }, t = { to, 4 };
	unsigned long node = 1;
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	void *at = shmat(id, NULL, 0);

	CHECK(id >= 0 && at != (void *)-1);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	tell("shmdt", shmdt(at));
	tell("shmdt again", shmdt(at));
	tell("process_vm_writev",
	     process_vm_writev(getpid(), &f, 1, &t, 1, 0));
	t_say("it has written %s", to);
	tell("set_mempolicy", syscall(SYS_set_mempolicy, 0, NULL, 0ul));
	tell("migrate_pages", syscall(SYS_migrate_pages, getpid(), 64ul, &node,
				      &node));
	tell("pkey_alloc, wrong", syscall(SYS_pkey_alloc, 1ul, 0ul));
	tell("pkey_alloc, as wrong", syscall(SYS_pkey_alloc, 1ul << 32, 0ul));
	tell("perf_event_open, wrong",
	     syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0ul));
	tell("pidfd_getfd, wrong", syscall(SYS_pidfd_getfd, -1, 0, 0));
	tell("tkill", syscall(SYS_tkill, syscall(SYS_gettid), 0));
	tell("tkill, wrong", syscall(SYS_tkill, -1, 0));
}

static void *all(void *arg)
{
	t_say("%s", (const char *)arg);
	scheduling();
	identity();
	ports();
	memory();
	return NULL;
}

int main(void)
{
	t_join(t_thread(all, "a thread"));
	all("main");
	return 0;
}
