/*
 * Calls that take a thread's id, from main and from a thread: 0, one's own, the
 * other's, and one that nobody has. What each says, and of whom.
 */
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include "t.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static pthread_barrier_t bar;
static pid_t id[2];

static long capget_of(int pid)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3,
					      pid };
	struct __user_cap_data_struct d[2];

	return syscall(SYS_capget, &h, d);
}

/* With all that it has already: nothing changes. */
static long capset_of(int pid)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	CHECK(syscall(SYS_capget, &h, d) == 0);
	h.pid = pid;
	return syscall(SYS_capset, &h, d);
}

static long vm_of(int pid)
{
	char from = 'x', to = 0;
	struct iovec l = { &to, 1 }, r = { &from, 1 };
	long n = process_vm_readv(pid, &l, 1, &r, 1, 0);

	return n == 1 ? to == 'x' : n;
}

static long pidfd_of(int pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return fd;
	close((int)fd);
	return 0;
}

static long owner_of(int pid)
{
	int sv[2];
	long r;

	t_pair(sv);
	r = fcntl(sv[0], F_SETOWN, pid);
	close(sv[0]);
	close(sv[1]);
	return r;
}

static long ioctl_owner(int pid, unsigned long how)
{
	int sv[2];
	long r;

	t_pair(sv);
	r = ioctl(sv[0], how, &pid);
	close(sv[0]);
	close(sv[1]);
	return r;
}

static long socket_owner_of(int pid)
{
	return ioctl_owner(pid, FIOSETOWN);
}

static long socket_group_of(int pid)
{
	return ioctl_owner(pid, SIOCSPGRP);
}

static long limit_of(int pid)
{
	struct rlimit lim;

	return prlimit(pid, RLIMIT_CORE, NULL, &lim);
}

static long group_of(int pid)
{
	long r = getpgid(pid);

	return r < 0 ? r : r == getpgrp();
}

static long session_of(int pid)
{
	long r = getsid(pid);

	return r < 0 ? r : r == getsid(0);
}

static long pages_of(int pid)
{
	return syscall(SYS_move_pages, pid, 0L, NULL, NULL, NULL, 0);
}

static long files_of(int pid)
{
	return syscall(SYS_kcmp, pid, id[0], KCMP_FILES, 0, 0);
}

static long trace_of(int pid)
{
	return setpgid(pid, pid == 0 ? getpgrp() : 1 << 30);
}

static void say(const char *who, const char *what, long (*call)(int pid))
{
	int ids[] = { 0, id[0], id[1], (1 << 30) - 1 };
	char line[200];
	int n = snprintf(line, sizeof(line), "%s: %s:", who, what);

	for (size_t i = 0; i < T_LEN(ids); i++) {
		errno = 0;
		long r = call(ids[i]);

		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s",
			      r < 0 ? strerrorname_np(errno) :
			      r	    ? "1" :
				      "0");
	}
	t_say("%s", line);
}

static void all(const char *who)
{
	say(who, "capget", capget_of);
	say(who, "capset", capset_of);
	say(who, "process_vm_readv", vm_of);
	say(who, "pidfd_open", pidfd_of);
	say(who, "F_SETOWN", owner_of);
	say(who, "FIOSETOWN", socket_owner_of);
	say(who, "SIOCSPGRP", socket_group_of);
	say(who, "prlimit", limit_of);
	say(who, "getpgid", group_of);
	say(who, "getsid", session_of);
	say(who, "setpgid", trace_of);
	say(who, "move_pages", pages_of);
	say(who, "kcmp", files_of);
}

static void *thread(void *arg)
{
	id[1] = gettid();
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar);
	all("thread");
	pthread_barrier_wait(&bar);
	return arg;
}

int main(void)
{
	pthread_t t;

	id[0] = gettid();
	CHECK_0(pthread_barrier_init(&bar, NULL, 2));
	t = t_thread(thread, NULL);
	pthread_barrier_wait(&bar);
	all("main");
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar);
	t_join(t);
	return 0;
}
