/*
 * Helpers of the behaviour programs: plain POSIX, no project header.
 *
 * A program prints a transcript with t_say() that must be the same in every
 * run: no addresses, thread ids or times. CHECK() ends the whole process with
 * status 1. Exit status 0 is a pass, 77 a skip.
 *
 * Nobody waits by sleeping here: outcomes may not depend on who comes first.
 * t_settle() only makes it likely that the other threads are already blocked,
 * so that the interesting order is also the usual one.
 */
#ifndef T_H
#define T_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tasks.h"
#include "old.h"

#define T_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define T_MS	 1000000LL
#define T_SEC	 1000000000LL

/* One write, so that lines of several threads and processes stay whole. */
__attribute__((format(printf, 1, 2), unused)) static void t_say(const char *fmt,
								...)
{
	char buf[1024];
	va_list ap;
	int n, saved = errno;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf) - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(buf) - 2)
		n = sizeof(buf) - 2;
	buf[n++] = '\n';
	if (write(1, buf, (size_t)n) != n)
		_exit(1);
	errno = saved;
}

__attribute__((noreturn, unused)) static void t_die(const char *file, int line,
						    const char *what, int err)
{
	char buf[512];
	int n = snprintf(buf, sizeof(buf), "%s:%d: failed: %s (errno %d %s)\n",
			 file, line, what, err, strerrorname_np(err));

	if (n > (int)sizeof(buf))
		n = sizeof(buf);
	if (write(2, buf, (size_t)n) != n)
		_exit(2);
	_exit(1);
}

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond))                                                   \
			t_die(__FILE__, __LINE__, #cond, errno);               \
	} while (0)

/* An expression that must fail with -1 and this errno. */
#define CHECK_ERR(expr, err)                                                   \
	do {                                                                   \
		errno = 0;                                                     \
		long t_r_ = (long)(expr);                                      \
		if (t_r_ != -1 || errno != (err))                              \
			t_die(__FILE__, __LINE__, #expr " fails with " #err,   \
			      errno);                                          \
	} while (0)

/* A pthread function that must return 0 (or another given code). */
#define CHECK_RC(expr, want)                                                   \
	do {                                                                   \
		int t_r_ = (expr);                                             \
		if (t_r_ != (want))                                            \
			t_die(__FILE__, __LINE__, #expr " returns " #want,     \
			      t_r_);                                           \
	} while (0)
#define CHECK_0(expr) CHECK_RC(expr, 0)

__attribute__((noreturn, unused)) static void t_skip(const char *why)
{
	t_say("skip: %s", why);
	_exit(77);
}

static inline long long t_now_on(clockid_t clock)
{
	struct timespec ts;

	CHECK(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * T_SEC + ts.tv_nsec;
}

static inline long long t_now(void)
{
	return t_now_on(CLOCK_MONOTONIC);
}

static inline struct timespec t_ts(long long ns)
{
	struct timespec ts;

	ts.tv_sec = ns / T_SEC;
	ts.tv_nsec = ns % T_SEC;
	return ts;
}

/* A deadline that far ahead on the given clock. */
static inline struct timespec t_in(clockid_t clock, long long ns)
{
	return t_ts(t_now_on(clock) + ns);
}

/*
 * A wait that began at start may not end before want_ns have passed, nor more
 * than 200 ms after (or what T_SLACK_MS says, for a machine under load), but for
 * the time that others had the processor in: so far, since nobody knows of it before.
 */
static inline void t_took_at(const char *file, int line, long long start,
			     long long want_ns)
{
	long long took = t_now() - start, slack = 200;
	const char *e = getenv("T_SLACK_MS");

	if (e)
		slack = atoll(e);
	if (took < want_ns || (took > want_ns + slack * T_MS &&
			       took > want_ns + slack * T_MS +
					      t_held_up("self"))) {
		char b[128];

		snprintf(b, sizeof(b), "waited %lld us, wanted %lld us",
			 took / 1000, want_ns / 1000);
		t_die(file, line, b, 0);
	}
}
#define T_TOOK(start, want_ns) t_took_at(__FILE__, __LINE__, start, want_ns)

/** What /proc/self/status has as @name: "Threads", "FDSize". */
static inline int t_status(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[256];
	int n = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			n = atoi(line + len + 1);
	fclose(f);
	CHECK(n >= 0);
	return n;
}

/** Kernel threads of this process. */
static inline int t_kernel_threads(void)
{
	return t_status("Threads");
}

/** The first of the caller's CPUs, alone. */
static inline cpu_set_t t_one_cpu(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	CHECK_0(sched_getaffinity(0, sizeof(all), &all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

/** sem_wait(), which a handler does not end. */
static inline void t_down(sem_t *s)
{
	while (sem_wait(s) != 0)
		CHECK(errno == EINTR);
}

static inline void t_settle(void)
{
	struct timespec ts = { 0, 3 * T_MS };

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

static inline pthread_t t_thread(void *(*fn)(void *), void *arg)
{
	pthread_t th;

	CHECK_0(pthread_create(&th, NULL, fn, arg));
	return th;
}

struct t_begins {
	void *(*fn)(void *);
	void *arg;
	int runs;
};

static inline void *t_runs(void *arg)
{
	struct t_begins *b = (struct t_begins *)arg, mine = *b;

	__atomic_store_n(&b->runs, 1, __ATOMIC_SEQ_CST);
	return mine.fn(mine.arg);
}

/**
 * t_thread(), back when it runs and comes to @fn next: on a busy machine that
 * may take longer than t_settle() does.
 */
static inline pthread_t t_begun(void *(*fn)(void *), void *arg)
{
	struct t_begins b = { fn, arg, 0 };
	pthread_t th = t_thread(t_runs, &b);

	while (!__atomic_load_n(&b.runs, __ATOMIC_SEQ_CST))
		sched_yield();
	return th;
}

/* For thousands of threads: a small stack. */
static inline pthread_t t_small_thread(void *(*fn)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t th;

	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, 64 * 1024));
	CHECK_0(pthread_create(&th, &a, fn, arg));
	CHECK_0(pthread_attr_destroy(&a));
	return th;
}

static inline void *t_join(pthread_t th)
{
	void *ret;

	CHECK_0(pthread_join(th, &ret));
	return ret;
}

/* Of a thread that may have ended: glibc said so, before 2.34. */
static inline void t_cancel(pthread_t th)
{
	int r = pthread_cancel(th);

	CHECK(r == 0 || r == ESRCH);
}

/* A thread that does nothing: it makes the process a threaded one. */
static inline void *t_nothing(void *arg)
{
	return arg;
}

static inline void t_be_threaded(void)
{
	int x;

	CHECK(t_join(t_thread(t_nothing, &x)) == &x);
}

static inline void *t_pauses(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/*
 * A thread that waits for good and takes no signal: it begins with all of them
 * blocked. Were it to block them itself, it could take one before that which
 * the kernel had sent to another thread.
 */
static inline void t_bystander(void)
{
	sigset_t all, old;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, &old));
	t_thread(t_pauses, NULL);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
}

/* A program's cases by name: the one that is asked for, in a thread. */
struct t_case {
	const char *name;
	void *(*fn)(void *);
};

static inline void t_run_case(const struct t_case *of, size_t n,
			      const char *name)
{
	for (; n && strcmp(name, of->name); n--)
		of++;
	CHECK(n);
	t_join(t_thread(of->fn, NULL));
}

static inline void t_pipe(int p[2])
{
	CHECK(pipe(p) == 0);
}

static inline void t_pair(int sv[2])
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
}

static inline void t_close(int fd)
{
	CHECK(close(fd) == 0);
}

static inline void t_write(int fd, const void *buf, size_t n)
{
	const char *p = (const char *)buf;

	while (n) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		CHECK(r > 0);
		p += r;
		n -= (size_t)r;
	}
}

/* Reads exactly n bytes. */
static inline void t_read(int fd, void *buf, size_t n)
{
	char *p = (char *)buf;

	while (n) {
		ssize_t r = read(fd, p, n);

		if (r < 0 && errno == EINTR)
			continue;
		CHECK(r > 0);
		p += r;
		n -= (size_t)r;
	}
}

static inline void t_put(int fd, char c)
{
	t_write(fd, &c, 1);
}

static inline char t_get(int fd)
{
	char c;

	t_read(fd, &c, 1);
	return c;
}

static inline void t_eof(int fd)
{
	char c;

	CHECK(read(fd, &c, 1) == 0);
}

static inline struct sockaddr_in t_addr(int port)
{
	struct sockaddr_in a;

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((uint16_t)port);
	return a;
}

/* A socket bound to a free port of 127.0.0.1, which it tells. */
static inline int t_bound(int type, int *port)
{
	struct sockaddr_in a = t_addr(0);
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, type, 0);

	CHECK(fd >= 0);
	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline int t_listen(int *port)
{
	int fd = t_bound(SOCK_STREAM, port);

	CHECK(listen(fd, 512) == 0);
	return fd;
}

static inline int t_connect(int port)
{
	struct sockaddr_in a = t_addr(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

/* Two ends of one TCP connection. */
static inline void t_tcp_pair(int sv[2])
{
	int port, l = t_listen(&port);

	sv[0] = t_connect(port);
	sv[1] = accept(l, NULL, NULL);
	CHECK(sv[1] >= 0);
	t_close(l);
}

/* Two UDP sockets, each connected to the other. */
static inline void t_udp_pair(int sv[2])
{
	struct sockaddr_in at[2];

	for (int i = 0; i < 2; i++) {
		socklen_t len = sizeof(at[i]);

		at[i] = t_addr(0);
		sv[i] = socket(AF_INET, SOCK_DGRAM, 0);
		CHECK(!bind(sv[i], (struct sockaddr *)&at[i], len));
		CHECK(!getsockname(sv[i], (struct sockaddr *)&at[i], &len));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!connect(sv[i], (struct sockaddr *)&at[!i],
			       sizeof(at[i])));
}

/* The wait status of a child, through any number of signals. */
static inline int t_wait(pid_t pid)
{
	int st;
	pid_t r;

	while ((r = waitpid(pid, &st, 0)) < 0 && errno == EINTR)
		;
	CHECK(r == pid);
	return st;
}

static inline void t_wait_ok(pid_t pid)
{
	int st = t_wait(pid);

	CHECK(WIFEXITED(st));
	CHECK(WEXITSTATUS(st) == 0);
}

static inline void t_handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = fn;
	sa.sa_flags = flags;
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

/* 16-bit generator, for data that can be compared without keeping it. */
static inline unsigned char t_byte(unsigned stream, size_t i)
{
	uint32_t x = (uint32_t)i * 2654435761u + stream * 40503u;

	return (unsigned char)(x >> 13 ^ x >> 24);
}

static inline void t_fill(unsigned stream, size_t at, unsigned char *b,
			  size_t n)
{
	for (size_t i = 0; i < n; i++)
		b[i] = t_byte(stream, at + i);
}

static inline void t_same(unsigned stream, size_t at, const unsigned char *b,
			  size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK(b[i] == t_byte(stream, at + i));
}

#endif
