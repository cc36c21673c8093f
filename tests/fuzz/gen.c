/*
 * Arguments for args.c: descriptors and pointers of fixtures.c, structures, and
 * numbers at the edges.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "args.h"

static long some_bytes(struct fuzz *z)
{
	static const char text[64] = "what there is to be written or read";
	size_t n = (size_t[]){ 1, 4, 8, 16, 64 }[fuzz_below(z, 5)];

	return fuzz_lay(z, "bytes", text, n);
}

static long number(struct fuzz *z)
{
	static const long edge[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32,
				     33, 64, 65, 100, 128, 1023, 1024, 1025,
				     4096, 65536, -1, -2, -8, INT_MAX, INT_MIN,
				     UINT_MAX, 1l << 32, (1l << 32) + 1,
				     (1l << 32) + 8, 1l << 40, LONG_MAX,
				     LONG_MIN, 0x7ffff000 };
	long v = edge[fuzz_below(z, fuzz_below(z, 3) ? 16 : 36)];

	fuzz_say(z, "%ld", v);
	return v;
}

static long one_of(struct fuzz *z, const long *v, unsigned n)
{
	long x = v[fuzz_below(z, n)];

	fuzz_say(z, "%#lx", x);
	return x;
}
#define ONE_OF(z, ...)                                                         \
	one_of(z, (const long[]){ __VA_ARGS__ },                               \
	       sizeof((const long[]){ __VA_ARGS__ }) / sizeof(long))

static int descriptor(struct fuzz *z)
{
	static const int bad[] = { -1, 3, 9, 77, 99999, 1 << 20, INT_MAX,
				   INT_MIN, -100 };
	unsigned n = FUZZ_FDS, i;

	if (!fuzz_below(z, 10)) {
		i = (unsigned)fuzz_below(z, sizeof(bad) / sizeof(*bad));
		fuzz_say(z, "fd %d", bad[i]);
		return bad[i];
	}
	i = (unsigned)fuzz_below(z, fuzz_below(z, 20) ? FUZZ_QUICK_FDS : n);
	fuzz_say(z, "%s", fuzz_fds[i].name);
	return fuzz_fds[i].fd;
}

/* --- structures ------------------------------------------------------------- */

static struct timespec a_time(struct fuzz *z)
{
	static const struct timespec v[] = {
		{ 0, 0 },	   { 0, 1 },	      { 0, 1000000 },
		{ 0, 5000000 },	   { 0, 999999 },     { -1, 0 },
		{ 0, -1 },	   { 0, 1000000000 }, { 0, 999999999999 },
		{ 1l << 62, 0 },   { 0, LONG_MAX },   { LONG_MAX, LONG_MAX },
		{ LONG_MIN, 0 },   { 0, LONG_MIN },
	};
	unsigned i = (unsigned)fuzz_below(
		z, fuzz_below(z, 2) ? 5 : sizeof(v) / sizeof(*v));

	fuzz_say(z, "{%ld,%ld}", v[i].tv_sec, v[i].tv_nsec);
	return v[i];
}

/* What is left of it is written there: not the same each time. */
static long time_at(struct fuzz *z)
{
	struct timespec ts = a_time(z);
	unsigned before = z->used;
	long at = fuzz_lay(z, "", &ts, sizeof(ts));

	if (z->used > before)
		z->timed |= 1u << before;
	return at;
}

static long times_at(struct fuzz *z, size_t n)
{
	struct timespec ts[2];

	/* Far away, or not at all: a timer that goes off ends the case. */
	for (int i = 0; i < 2; i++) {
		ts[i] = a_time(z);
		if (ts[i].tv_sec == 0 && ts[i].tv_nsec > 0 &&
		    ts[i].tv_nsec < 1000000000)
			ts[i].tv_sec = 5000;
	}
	return fuzz_lay(z, "", ts, n);
}

static int vector(struct fuzz *z, struct iovec v[8])
{
	int n = (int)fuzz_below(z, 5);

	fuzz_say(z, "[");
	for (int i = 0; i < n; i++) {
		static const size_t len[] = { 0, 1, 3, 8, 64, 5000, INT_MAX,
					      LONG_MAX, ULONG_MAX };

		v[i].iov_base = (void *)some_bytes(z);
		v[i].iov_len = len[fuzz_below(z, fuzz_below(z, 4) ? 5 : 9)];
		fuzz_say(z, " %zd;", (ssize_t)v[i].iov_len);
	}
	fuzz_say(z, "]");
	return n;
}

static long vector_at(struct fuzz *z)
{
	struct iovec v[8];
	int n = vector(z, v);

	return fuzz_lay(z, "", v, (size_t)n * sizeof(*v));
}

static struct msghdr message(struct fuzz *z)
{
	struct msghdr m;
	struct iovec v[8];
	int n = vector(z, v);

	memset(&m, 0, sizeof(m));
	m.msg_iov = (void *)fuzz_lay(z, "", v, (size_t)n * sizeof(*v));
	m.msg_iovlen = fuzz_below(z, 8) ? (size_t)n : (size_t)number(z);
	if (!fuzz_below(z, 4)) {
		m.msg_name = (void *)some_bytes(z);
		m.msg_namelen = (socklen_t)number(z);
	}
	if (!fuzz_below(z, 4)) {
		m.msg_control = (void *)some_bytes(z);
		m.msg_controllen = (size_t)number(z);
	}
	return m;
}

static long messages_at(struct fuzz *z, int n)
{
	struct mmsghdr m[2];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 2; i++)
		m[i].msg_hdr = message(z);
	return n == 1 ? fuzz_lay(z, "", &m[0].msg_hdr, sizeof(m[0].msg_hdr)) :
			fuzz_lay(z, "", m, sizeof(m));
}

static long polls_at(struct fuzz *z)
{
	struct pollfd p[4];

	for (int i = 0; i < 4; i++) {
		p[i].fd = descriptor(z);
		p[i].events = (short[]){ POLLIN, POLLOUT, POLLPRI, 0, -1,
					 POLLIN | POLLOUT }[fuzz_below(z, 6)];
		p[i].revents = -1;
		fuzz_say(z, ":%d ", p[i].events);
	}
	return fuzz_lay(z, "", p, sizeof(p[0]) * (1 + fuzz_below(z, 4)));
}

static long set_at(struct fuzz *z)
{
	unsigned long s[16] = { 0 };

	for (int n = (int)fuzz_below(z, 3); n >= 0; n--) {
		unsigned i = (unsigned)fuzz_below(z, FUZZ_QUICK_FDS);

		fuzz_say(z, "%s ", fuzz_fds[i].name);
		s[0] |= 1ul << fuzz_fds[i].fd;
	}
	if (!fuzz_below(z, 10))
		s[fuzz_below(z, 16)] |= 2;
	return fuzz_lay(z, "set", s, sizeof(s));
}

static long word_at(struct fuzz *z)
{
	/* Never the id of a thread that there is. */
	uint32_t v = (uint32_t)(long[]){ 0, 0, 0x3ffffff1, 0x80000000,
					 0x40000000, 0x3ffffff,
					 -1 }[fuzz_below(z, 7)];

	fuzz_say(z, "%x", v);
	return fuzz_lay(z, "", &v, sizeof(v));
}

static long sigset_at(struct fuzz *z)
{
	uint64_t v = (uint64_t[]){ 0, 1ull << (SIGUSR1 - 1), ~0ull,
				   1ull << (SIGKILL - 1) }[fuzz_below(z, 4)];

	fuzz_say(z, "%llx", (unsigned long long)v);
	return fuzz_lay(z, "", &v, sizeof(v));
}

static long sized(struct fuzz *z)
{
	return fuzz_below(z, 8) ? (fuzz_say(z, "8"), 8) : number(z);
}

static long address_at(struct fuzz *z)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/none" };

	switch (fuzz_below(z, 4)) {
	case 0:
		return some_bytes(z);
	case 1:
		return fuzz_lay(z, "unix", &un, 16);
	default:
		/* port 0 refuses */
		in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return fuzz_lay(z, "inet", &in, sizeof(in));
	}
}

static long length_at(struct fuzz *z)
{
	int v = (int)(long[]){ 0, 1, 2, 16, 128, -1 }[fuzz_below(z, 6)];

	fuzz_say(z, "%d", v);
	return fuzz_lay(z, "", &v, sizeof(v));
}

static long action_at(struct fuzz *z)
{
	uint64_t a[4] = { 0, 0x04000000, 0, ~0ull };

	a[0] = fuzz_below(z, 2); /* default or ignored */
	return fuzz_lay(z, "action", a, sizeof(a));
}

static long event_at(struct fuzz *z)
{
	struct sigevent ev;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify =
		(int[]){ SIGEV_NONE, SIGEV_SIGNAL, 77, 4 }[fuzz_below(z, 4)];
	ev.sigev_signo = (int[]){ SIGUSR1, 0, 65, -1 }[fuzz_below(z, 4)];
	fuzz_say(z, "%d/%d", ev.sigev_notify, ev.sigev_signo);
	return fuzz_lay(z, "", &ev, sizeof(ev));
}

static long stack_at(struct fuzz *z)
{
	stack_t ss = { .ss_sp = fuzz_region(FUZZ_REGIONS - 1) };

	ss.ss_flags = (int[]){ 0, SS_DISABLE, SS_ONSTACK, 4, -1,
			       (int)(1u << 31) }[fuzz_below(z, 6)];
	ss.ss_size = (size_t[]){ 8192, 2048, 2047, 0, ~0ul }[fuzz_below(z, 5)];
	fuzz_say(z, "%d/%zd", ss.ss_flags, (ssize_t)ss.ss_size);
	return fuzz_lay(z, "", &ss, sizeof(ss));
}

static long info_at(struct fuzz *z)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = (int[]){ SI_QUEUE, SI_USER, SI_TKILL, 5 }[fuzz_below(z, 4)];
	fuzz_say(z, "code %d", info.si_code);
	return fuzz_lay(z, "", &info, sizeof(info));
}

static long path_at(struct fuzz *z)
{
	static const char *const p[] = { "/nowhere/at/all", "/", "", "/dev/null",
					 "relative" };
	unsigned i = (unsigned)fuzz_below(z, 5);

	fuzz_say(z, "'%s'", p[i]);
	return fuzz_lay(z, "", p[i], strlen(p[i]) + 1);
}

static long strings_at(struct fuzz *z)
{
	long v[3] = { some_bytes(z), 0, 0 };

	return fuzz_lay(z, "", v, sizeof(v));
}

/* Its own, its group's, or nobody's: never -1, which is everybody. */
static long process(struct fuzz *z)
{
	switch (fuzz_below(z, 5)) {
	case 0:
		fuzz_say(z, "pid");
		return getpid();
	case 1:
		fuzz_say(z, "own");
		return FUZZ_OWN_TID;
	case 2:
		fuzz_say(z, "0");
		return 0;
	case 3:
		fuzz_say(z, "min");
		return INT_MIN;
	default:
		fuzz_say(z, "nobody");
		return 0x3ffffff1;
	}
}

static long signal_number(struct fuzz *z)
{
	/* Not those that stop: nobody would go on. */
	return ONE_OF(z, 0, 0, 0, SIGUSR1, SIGCHLD, 64, 65, -1, 1000,
		      (1l << 32) + 1);
}

/* --- one call ---------------------------------------------------------------- */

static bool is(const struct fuzz *z, const char *name)
{
	return !strcmp(z->row->name, name);
}

static bool any_of(const struct fuzz *z, const char *const *names)
{
	for (; *names; names++)
		if (is(z, *names))
			return true;
	return false;
}
#define ANY_OF(z, ...) any_of(z, (const char *const[]){ __VA_ARGS__, NULL })

static long flags_of(struct fuzz *z)
{
	if (ANY_OF(z, "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg",
		   "sendmmsg"))
		return ONE_OF(z, 0, 0, 0, MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL,
			      MSG_TRUNC, MSG_NOSIGNAL, MSG_OOB, 0x10000,
			      MSG_PEEK | MSG_WAITALL, 1l << 32, 0x40000000);
	if (is(z, "unshare"))
		return ONE_OF(z, 0, 0x400, 0x200, 1, 1l << 32, -1);
	if (is(z, "mmap"))
		return ONE_OF(z, MAP_PRIVATE | MAP_ANONYMOUS, MAP_PRIVATE, 0,
			      MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED);
	if (is(z, "mremap"))
		return ONE_OF(z, 0, MREMAP_MAYMOVE, 8, 16, -1);
	if (is(z, "openat"))
		return ONE_OF(z, O_RDONLY, O_RDWR, O_PATH, O_DIRECTORY,
			      O_CLOEXEC, 1l << 32);
	if (is(z, "clone"))
		return ONE_OF(z, SIGCHLD, 0, CLONE_THREAD, CLONE_SIGHAND, 65,
			      CLONE_NEWNS | CLONE_FS,
			      CLONE_PIDFD | CLONE_PARENT_SETTID);
	return ONE_OF(z, 0, 0, 1, 2, 4, 0x800, 0x80000, 0x80800, -1, 1l << 32,
		      1l << 31);
}

static long op_of(struct fuzz *z)
{
	if (is(z, "futex"))
		return ONE_OF(z, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
			      14, 127, 0x100, 0x101) |
		       ONE_OF(z, 0, 128);
	if (is(z, "flock"))
		return ONE_OF(z, 1, 2, 4, 5, 6, 8, 0, 99, 1l << 32);
	if (is(z, "prctl"))
		return ONE_OF(z, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 15, 16, 16,
			      19, 20, 21, 23, 24, 25, 27, 28, 29, 30, 33, 34,
			      36, 37, 38, 39, 47, 52, 53, 62, 99, -1);
	if (is(z, "arch_prctl"))
		return ONE_OF(z, 0x1003, 0x1004, 0x1011, 0x1021, 0x1022, 99);
	if (is(z, "seccomp"))
		return ONE_OF(z, 1, 2, 3, 99);
	return ONE_OF(z, 30, 31, 99, -1);
}

static long pointer(struct fuzz *z, const char *type, const char *name)
{
	if (!strncmp(type, "const struct timespec", 21) ||
	    !strncmp(type, "struct timespec", 15) ||
	    !strncmp(type, "struct timeval", 14))
		return time_at(z);
	if (strstr(type, "iovec"))
		return vector_at(z);
	if (strstr(type, "msghdr"))
		return messages_at(z, 1);
	if (!strcmp(name, "vec"))
		return messages_at(z, 2);
	if (strstr(type, "pollfd"))
		return polls_at(z);
	if (ANY_OF(z, "select", "pselect6") && name[1] == 0)
		return set_at(z);
	if (!strcmp(name, "addrlen"))
		return length_at(z);
	if (!strcmp(name, "addr"))
		return address_at(z);
	if (strstr(type, "sigevent"))
		return event_at(z);
	if (strstr(type, "uint64_t"))
		return sigset_at(z);
	if (strstr(type, "uint32_t"))
		return word_at(z);
	if (strstr(type, "char *const"))
		return strings_at(z);
	if (!strcmp(name, "path"))
		return path_at(z);
	if (!strcmp(name, "ss"))
		return stack_at(z);
	if (!strcmp(name, "act"))
		return action_at(z);
	if (ANY_OF(z, "rt_sigqueueinfo", "rt_tgsigqueueinfo"))
		return info_at(z);
	if (ANY_OF(z, "setitimer", "timer_settime") && !strcmp(name, "new"))
		return times_at(z, 32);
	return some_bytes(z);
}

static long scalar(struct fuzz *z, const char *name)
{
	if (!strcmp(name, "fd") || !strcmp(name, "from") ||
	    !strcmp(name, "dir") || (!strcmp(name, "to") && z->row->n < 4))
		return descriptor(z);
	if (!strcmp(name, "tid") || !strcmp(name, "tgid") ||
	    !strcmp(name, "pid") || !strcmp(name, "who"))
		return process(z);
	if (!strcmp(name, "flags") || !strcmp(name, "options"))
		return flags_of(z);
	if (!strcmp(name, "op"))
		return op_of(z);
	if (!strcmp(name, "sig"))
		return signal_number(z);
	if (!strcmp(name, "timeout_ms"))
		return ONE_OF(z, 0, 0, 0, 1, 5, 5, 20, -1, (1l << 32) + 1);
	if (!strcmp(name, "size"))
		return sized(z);
	if (ANY_OF(z, "select", "pselect6"))
		return ONE_OF(z, 0, 8, 20, 35, 35, 64, 65, 100, 1024, -1,
			      INT_MIN, (1l << 32) + 35);
	/* Who sleeps by a CPU clock waits for others to compute. */
	if (is(z, "clock_nanosleep") && !strcmp(name, "clock"))
		return ONE_OF(z, 0, 1, 3, 4, 7, 11, 99, -1, 1l << 32);
	if (!strcmp(name, "clock"))
		return ONE_OF(z, 0, 1, 2, 3, 4, 7, 11, 12, 99, -1, -6,
			      1l << 32);
	/* Who has itself traced (0) has to be waited for, thread by thread. */
	if (!strcmp(name, "request"))
		return ONE_OF(z, 3, 8, 16, 99, -1, 1l << 40);
	if (!strcmp(name, "seconds"))
		return ONE_OF(z, 0, 1000, (1l << 32) + 5000);
	if (!strcmp(name, "which"))
		return ONE_OF(z, 0, 1, 77, 99, -1, 1l << 32);
	if (is(z, "ioctl") && !strcmp(name, "cmd"))
		return ONE_OF(z, FIONREAD, FIONBIO, TCGETS, FIOCLEX, 0, 99,
			      (1l << 32) + FIONREAD);
	if (is(z, "fcntl") && !strcmp(name, "cmd"))
		return ONE_OF(z, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16,
			      17, 36, 37, 38, 1024, 1025, 1030, 1032, 1033, 1034,
			      99, -1, (1l << 32) + 3);
	return number(z);
}

void fuzz_arguments(struct fuzz *z)
{
	for (int i = 0; i < z->row->n; i++) {
		char type[64];
		const char *name = strrchr(z->row->arg[i], ' ') + 1;
		long *a = &z->a[i];
		size_t len = (size_t)(name - z->row->arg[i]) - 1;
		bool by_address;

		snprintf(type, sizeof(type), "%.*s", (int)len, z->row->arg[i]);
		/* What some calls declare as a number is an address as well. */
		by_address = (ANY_OF(z, "munmap", "mprotect", "mremap", "mmap") &&
			      i == 0) ||
			     (ANY_OF(z, "futex") && i == 3 &&
			      fuzz_below(z, 2)) ||
			     (ANY_OF(z, "fcntl", "ioctl", "prctl", "keyctl",
				     "arch_prctl") &&
			      !strncmp(type, "long", 4) && fuzz_below(z, 2));
		fuzz_say(z, "%s%s=", i ? ", " : "", name);
		if (is(z, "futex") && by_address)
			*a = time_at(z);
		else if (by_address || strchr(type, '*'))
			*a = pointer(z, type, name);
		else
			*a = scalar(z, name);
		/* The kernel looks at half of an int. */
		if ((!strcmp(type, "int") || !strcmp(type, "unsigned")) &&
		    !fuzz_below(z, 12)) {
			*a ^= 0x5a5a5a5al << 32;
			fuzz_say(z, "^");
		}
	}
}
