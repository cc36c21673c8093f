/*
 * Fuzzing the arguments of every call of hooks.def: one line for each case, the
 * same in every process that is as Linux is.
 *
 *	args SEED FIRST COUNT STEP LIMIT_MS	cases FIRST, FIRST+STEP, ...
 *	args --left-out				calls that are not tried, and why
 *
 * Each case runs in a child of its own, in a thread (so hooked it is a fiber),
 * with fresh memory and descriptors. The line has the call, how it ended (the
 * result, blocked, the signal), and digests of the memory, the descriptors, the
 * signal mask and the pending signals. args.py compares native and hooked runs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "args.h"

/* Younger than libc's headers. */
#ifndef SYS_futex_wake
#define SYS_futex_wake	  454
#define SYS_futex_wait	  455
#define SYS_futex_requeue 456
#endif
#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif

#define ROW(nm, n, ...) { #nm, SYS_##nm, n, { __VA_ARGS__ __VA_OPT__(, ) NULL } },
static const struct row rows[] = {
#include "rows.h"
};

static const struct {
	const char *name, *why;
} left_out[] = {
	{ "vfork", "a child that returns from syscall() ruins its parent" },
	{ "rseq", "refused on purpose: docs/COMPATIBILITY.md" },
	{ "pause", "has no arguments" },
	{ "exit_group", "ends before it can tell: tests/hooks/process" },
};

/* Results that are not the same in every run, and memory that is not. */
static const char *const any_result[] = {
	"fork",	   "clone", "clone3",  "gettid", "mmap",   "mremap", "shmat",
	"add_key", "keyctl", "request_key", "set_tid_address", "getpgid",
	"getsid", NULL
};
static const char *const any_memory[] = { "clone",	     "clone3",
					  "get_robust_list", "getrusage",
					  "clock_gettime",   "getdents64",
					  "prctl",	     NULL };
/* Functions of libc that return no int; and those that are something else. */
static const char *const long_result[] = {
	"read",	   "write",  "readv",	"writev", "recvfrom",	"sendto",
	"recvmsg", "sendmsg", "mmap", "mremap", "shmat", "getdents64", "ptrace",
	"add_key", "request_key", "keyctl", NULL
};
static const char *const other_function[] = {
	"exit",	 "clone", "timer_create", "timer_delete", "timer_settime",
	"gettid", NULL
};

static struct shared {
	char text[1024];
	long r;
	int err;
	uint32_t memory, fds;
	unsigned long mask, pending;
	volatile int done;
} *shared;

/* Who creates a thread has all signals blocked until it has. */
static sem_t created;

static bool in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

uint64_t fuzz_below(struct fuzz *z, uint64_t n)
{
	uint64_t x = z->state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (x ^ x >> 31) % n;
}

void fuzz_say(struct fuzz *z, const char *fmt, ...)
{
	size_t at = strlen(z->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(z->text + at, sizeof(z->text) - at, fmt, ap);
	va_end(ap);
}

static long call(struct fuzz *z)
{
	long (*fn)(long, long, long, long, long, long);
	long *a = z->a;

	for (int i = 0; i < ARGS; i++)
		if ((int)a[i] == FUZZ_OWN_TID)
			a[i] += gettid() - FUZZ_OWN_TID;
	errno = 0;
	if (!z->libc)
		return syscall(z->row->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	fn = (long (*)(long, long, long, long, long, long))dlsym(RTLD_DEFAULT,
								z->row->name);
	if (in(long_result, z->row->name))
		return fn(a[0], a[1], a[2], a[3], a[4], a[5]);
	return (int)fn(a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void *thread(void *arg)
{
	struct fuzz *z = arg;
	pid_t pid = getpid();
	int err;
	long r;

	sem_wait(&created);
	r = call(z);
	err = errno;
	if (getpid() != pid)
		_exit(0); /* a child that the call has made */
	shared->r = r;
	shared->err = r == -1 ? err : 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &shared->mask, 8);
	syscall(SYS_rt_sigpending, &shared->pending, 8);
	shared->fds = fuzz_descriptors();
	/* A PI mutex that was free has the thread's id in it. */
	if (!in(any_memory, z->row->name) &&
	    (r < 0 || strcmp(z->row->name, "futex")))
		shared->memory = fuzz_memory(z);
	shared->done = 1;
	return NULL;
}

static void choose(struct fuzz *z, uint64_t seed, uint64_t number)
{
	bool again;

	memset(z, 0, sizeof(*z));
	z->state = seed * 0xd1342543de82ef95ull + number * 0x2545f4914f6cdd1dull;
	do {
		again = false;
		z->row = &rows[fuzz_below(z, sizeof(rows) / sizeof(*rows))];
		for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
			again |= !strcmp(left_out[i].name, z->row->name);
	} while (again);
	z->libc = !fuzz_below(z, 3) && !in(other_function, z->row->name) &&
		  dlsym(RTLD_DEFAULT, z->row->name);
	fuzz_say(z, "%s %s(", z->libc ? "libc" : "sys", z->row->name);
}

static _Noreturn void child(uint64_t seed, uint64_t number)
{
	struct rlimit none = { 0, 0 };
	struct fuzz z;
	pthread_t t;

	setsid();
	setrlimit(RLIMIT_CORE, &none);
	choose(&z, seed, number);
	fuzz_fixtures();
	fuzz_arguments(&z);
	fuzz_say(&z, ")");
	memcpy(shared->text, z.text, sizeof(z.text));
	if (sem_init(&created, 0, 0) || pthread_create(&t, NULL, thread, &z))
		abort();
	sem_post(&created);
	/* Joining waits for the tid word, which may be elsewhere now. */
	if (!strcmp(z.row->name, "set_tid_address"))
		while (!shared->done)
			usleep(1000);
	else if (pthread_join(t, NULL))
		abort();
	_exit(0);
}

static void tell(uint64_t number, const char *name, int status, bool blocked)
{
	printf("%lu %s = ", (unsigned long)number, shared->text);
	if (blocked)
		printf("blocked%s", shared->done ? " after" : "");
	else if (WIFSIGNALED(status))
		printf("signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		printf("exit %d", WEXITSTATUS(status));
	else if (!shared->done)
		printf("thread ended");
	else if (shared->r == -1)
		printf("%s", shared->err ? strerrorname_np(shared->err) : "-1");
	else if (in(any_result, name))
		printf("ok");
	else
		printf("%ld", shared->r);
	if (shared->done && !blocked)
		printf(" memory %x fds %x mask %lx pending %lx", shared->memory,
		       shared->fds, shared->mask, shared->pending);
	printf("\n");
}

static void one(uint64_t seed, uint64_t number, int limit_ms)
{
	struct pollfd p = { .events = POLLIN };
	bool blocked;
	struct fuzz z;
	int status = 0;
	pid_t pid;

	choose(&z, seed, number);
	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(seed, number);
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid < 0 || p.fd < 0)
		abort();
	blocked = poll(&p, 1, limit_ms) == 0;
	kill(pid, SIGKILL);
	/* Some calls leave a process that does not end when it is killed. */
	if (poll(&p, 1, 2000) != 1 || waitpid(pid, &status, 0) != pid)
		blocked = true;
	close(p.fd);
	tell(number, z.row->name, status, blocked);
}

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t seed, first, count, step;
	pthread_t t;

	if (argc == 2 && !strcmp(argv[1], "--left-out")) {
		for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
			printf("%s: %s\n", left_out[i].name, left_out[i].why);
		return 0;
	}
	if (argc != 6)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	first = strtoull(argv[2], NULL, 0);
	count = strtoull(argv[3], NULL, 0);
	step = strtoull(argv[4], NULL, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	/* The text is rewritten once, not in each child. */
	if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
		return 1;
	for (uint64_t i = 0; i < count; i++)
		one(seed, first + i * step, atoi(argv[5]));
	return 0;
}
