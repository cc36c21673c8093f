/*
 * A trial: this program itself, hooked, makes a thread. All that the library
 * looks at when it starts (processor, kernel, filters, limits, /proc, settings)
 * is looked at by the library, here, and it tells why it does not start. And
 * what it costs is the difference to the same program unhooked: the least of
 * some runs, since all else is the machine's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/check/check.h"
#include "cli/cli.h"
#include "runtime/sched.h"

#define ROUNDS	 5
#define LIMIT_MS 10000

struct result {
	uint32_t known, active; /* the library was there */
	int32_t workers;
	double start_ms, kb;
	char reason[FIB_REASON_MAX];
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* --- in the trial ------------------------------------------------------------------ */

static void *thread(void *arg)
{
	return arg;
}

/* Resident memory and page tables. */
static double memory_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	double kb = 0, n;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lf", &n) == 1 ||
		    sscanf(line, "VmPTE: %lf", &n) == 1)
			kb += n;
	if (f)
		fclose(f);
	return kb;
}

/* The first of the symbol in search order: the library's, where it is loaded. */
static void *look_up(const char *name)
{
	void *lib, *found = dlsym(RTLD_DEFAULT, name);

	if (found)
		return found;
	/* Before glibc 2.34 threads are in a library of their own. */
	lib = dlopen("libpthread.so.0", RTLD_NOW | RTLD_GLOBAL);
	return lib ? dlsym(lib, name) : NULL;
}

int check_trial_run(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		      void *) = look_up("pthread_create");
	int (*join)(pthread_t, void **) = look_up("pthread_join");
	const struct fib_symtab *tab = dlsym(RTLD_DEFAULT, "fib_symtab");
	struct result r = { 0 };
	double begin = now_ms();
	pthread_t t;

	if (!create || !join || create(&t, NULL, thread, NULL) || join(t, NULL))
		return CLI_ERROR;
	r.start_ms = now_ms() - begin;
	r.kb = memory_kb();
	if (tab && tab->magic == FIB_SYMTAB_MAGIC) {
		r.known = 1;
		r.active = tab->active;
		r.workers = tab->sched ? tab->sched->running : 0;
		memcpy(r.reason, tab->reason, sizeof(r.reason));
		r.reason[sizeof(r.reason) - 1] = 0;
	}
	return write(1, &r, sizeof(r)) == sizeof(r) ? 0 : CLI_ERROR;
}

/* --- around it ---------------------------------------------------------------------- */

static void become_trial(const char *library, const char *program, int out)
{
	char *args[] = { (char *)program, "check", "--trial", NULL };
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(null, 2) < 0)
		_exit(CLI_CANNOT);
	unsetenv("FIBHOOK_STATS");
	if (library)
		cli_preload(library);
	execv("/proc/self/exe", args);
	_exit(CLI_CANNOT);
}

/* Milliseconds from start to end; negative: it came to no result. */
static double try_once(const char *library, const char *program,
		       struct result *r)
{
	double begin = now_ms();
	struct pollfd p = { .events = POLLIN };
	int out[2], status = 0;
	ssize_t n = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		cli_fail(CLI_ERROR, "fork: %s", strerror(errno));
	if (!pid)
		become_trial(library, program, out[1]);
	close(out[1]);
	p.fd = out[0];
	if (poll(&p, 1, LIMIT_MS) == 1)
		n = read(out[0], r, sizeof(*r));
	else
		kill(pid, SIGKILL);
	close(out[0]);
	waitpid(pid, &status, 0);
	return n == sizeof(*r) && !status ? now_ms() - begin : -1;
}

static void least(double *d, double val)
{
	if (*d < 0 || val < *d)
		*d = val;
}

void check_trial(const char *library, const char *program,
		 struct check_trial *t)
{
	double plain = -1, hooked = -1, plain_start = -1, hooked_start = -1;
	struct result with = { 0 }, without = { 0 };

	*t = (struct check_trial){ 0 };
	for (int i = 0; i < ROUNDS; i++) {
		double ms = try_once(library, program, &with);

		if (ms < 0 || !with.known) {
			snprintf(t->reason, sizeof(t->reason), "%s",
				 ms < 0 ?
					 "a program with the library does not "
					 "come to its end here" :
					 "the dynamic linker does not load it");
			return;
		}
		if (!with.active) {
			memcpy(t->reason, with.reason, sizeof(t->reason));
			return;
		}
		least(&hooked, ms);
		least(&hooked_start, with.start_ms);
		ms = try_once(NULL, program, &without);
		if (ms < 0)
			continue;
		least(&plain, ms);
		least(&plain_start, without.start_ms);
	}
	t->active = true;
	t->workers = with.workers;
	t->start_ms = hooked_start - plain_start;
	t->load_ms = hooked - plain - t->start_ms;
	t->kb = with.kb - without.kb;
}
