/* Options from the environment, and the log. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "preload/preload.h"
#include "shared/text.h"
#include "runtime/base.h"
#include "runtime/symtab.h"

#define MAX_WORKERS 1024

struct fib_options fib_options FIB_SEALED = { .log = FIB_LOG_WARN };

struct fib_file fib_stdout;

extern char **environ;

void fib_log(enum fib_log level, const char *fmt, ...)
{
	char text[512], line[1024] = "fibhook: ";
	size_t n = strlen(line);
	int saved = errno;
	va_list ap;

	if ((int)level > fib_options.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* It may name files and values of the environment. */
	fib_text(line + n, sizeof(line) - n - 1, text, sizeof(text), false);
	n = strlen(line);
	line[n++] = '\n';
	if (fib_file_is(&fib_stderr, STDERR_FILENO))
		fib_raw(SYS_write, STDERR_FILENO, line, n);
	errno = saved;
}

void fib_log_plain(const char *text)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec now = { 0, 0 };
	struct iovec part[3] = { { "fibhook: ", 9 },
				 { (void *)text, strlen(text) },
				 { "\n", 1 } };

	if (FIB_LOG_WARN <= fib_options.log &&
	    fib_file_is(&fib_stderr, STDERR_FILENO) &&
	    fib_raw(SYS_ppoll, &p, 1, &now, 0, 8) > 0)
		fib_raw(SYS_writev, STDERR_FILENO, part, 3);
}

static void bad_value(const char *name, const char *val, const char *used)
{
	fib_log(FIB_LOG_WARN, "FIBHOOK_%s: '%s' is not valid; using %s", name,
		val, used);
}

/* 1, 0, or -1: neither. */
static int truth_of(const char *val)
{
	static const char *const words[2][5] = {
		{ "0", "no", "false", "off", "" },
		{ "1", "yes", "true", "on", "1" },
	};

	for (int is = 0; is < 2; is++)
		for (int i = 0; i < 5; i++)
			if (!strcasecmp(val, words[is][i]))
				return is;
	return -1;
}

static void read_workers(const char *val)
{
	char *end;
	long n = strtol(val, &end, 10);

	if (!*val || *end || n < 1 || n > MAX_WORKERS)
		bad_value("WORKERS", val, "one for each usable CPU");
	else
		fib_options.workers = (int)n;
}

static void read_start(const char *val)
{
	if (!strcmp(val, "eager"))
		fib_options.eager = true;
	else if (strcmp(val, "lazy") != 0)
		bad_value("START", val, "lazy");
}

/* Who writes something there that is not clear does not want it to start. */
static void read_disable(const char *val)
{
	int is = truth_of(val);
	char why[80];

	if (is == 0)
		return;
	fib_options.disable = true;
	snprintf(why, sizeof(why), "FIBHOOK_DISABLE=%s", val);
	fib_state_tell(FIB_STATE_DISABLED, why);
	if (is < 0)
		bad_value("DISABLE", val, "1");
}

static void read_rewrite(const char *val)
{
	if (!strcmp(val, "all"))
		fib_options.rewrite_all = true;
	else if (strcmp(val, "libc") != 0)
		bad_value("REWRITE", val, "libc");
}

static void read_log(const char *val)
{
	static const char *const names[] = { "none", "warn", "info" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(val, names[i]) || (val[0] == '0' + i && !val[1])) {
			fib_options.log = i;
			return;
		}
	}
	bad_value("LOG", val, "warn");
}

static void read_stats(const char *val)
{
	/* Some programs write their title over the environment. */
	static char name[PATH_MAX];

	if (!*val || strlen(val) >= sizeof(name))
		bad_value("STATS", val, "no statistics");
	else if (!strcmp(val, "-"))
		fib_options.stats = "stdout";
	else if (!strcmp(val, "1"))
		fib_options.stats = "stderr";
	else
		fib_options.stats = strcpy(name, val);
}

/* SEED, or SEED:POINT,POINT... */
static void read_chaos(const char *val)
{
	char *end;

	errno = 0;
	fib_options.chaos = strtoull(val, &end, 10);
	if (*end == ':')
		fib_options.chaos_only = end + 1;
	if (*val < '0' || *val > '9' || (*end && *end != ':') || errno) {
		fib_options.chaos = 0;
		bad_value("CHAOS", val, "none");
	}
}

static const struct {
	const char *name;
	void (*read)(const char *val);
} options[] = {
	{ "WORKERS", read_workers }, { "START", read_start },
	{ "DISABLE", read_disable }, { "REWRITE", read_rewrite },
	{ "LOG", read_log },	     { "STATS", read_stats },
	{ "CHAOS", read_chaos },
};

/*
 * A program with more rights than who starts it (set-id, capabilities of its
 * file) takes no order from the environment, and nothing is said or opened for
 * it: it runs as if the library were not there.
 */
void fib_options_read(void)
{
	const size_t n = sizeof(options) / sizeof(options[0]);
	const char *log = getenv("FIBHOOK_LOG");

	if (getauxval(AT_SECURE)) {
		fib_options.disable = true;
		fib_state_tell(FIB_STATE_DISABLED,
			       "it has more rights than who started it");
		fib_options.log = FIB_LOG_NONE;
		return;
	}
	fib_file_note(&fib_stderr, STDERR_FILENO);
	fib_file_note(&fib_stdout, STDOUT_FILENO);
	if (log)
		read_log(log);
	for (char **e = environ; e && *e; e++) {
		const char *name = *e + 8, *eq;
		size_t i;

		if (strncmp(*e, "FIBHOOK_", 8) != 0)
			continue;
		eq = strchr(name, '=');
		if (!eq)
			continue;
		for (i = 0; i < n; i++)
			if (strlen(options[i].name) == (size_t)(eq - name) &&
			    !strncmp(options[i].name, name,
				     (size_t)(eq - name)))
				break;
		if (i == n)
			fib_log(FIB_LOG_WARN, "%.*s: no such option; ignored",
				(int)(eq - *e), *e);
		else if (options[i].read != read_log)
			options[i].read(eq + 1);
	}
}

/* "max 100000" or "150000 100000": CPUs as a quota of a period. */
static int quota_of(const char *path)
{
	FILE *f = fopen(path, "re");
	long quota, period;
	int cpus = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld %ld", &quota, &period) == 2 && period > 0)
		cpus = (int)((quota + period - 1) / period);
	fclose(f);
	return cpus;
}

/* The process's cgroup (v2) and those above it; the least quota counts. */
static int cgroup_cpus(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512], path[600];
	int least = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		char *slash;

		if (strncmp(line, "0::", 3) != 0)
			continue;
		line[strcspn(line, "\n")] = 0;
		for (;;) {
			int n;

			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max",
				 line + 3);
			n = quota_of(path);
			if (n > 0 && (!least || n < least))
				least = n;
			slash = strrchr(line + 3, '/');
			if (!slash || slash == line + 3)
				break;
			*slash = 0;
		}
	}
	fclose(f);
	return least;
}

int fib_cpus(void)
{
	cpu_set_t set;
	int n = 1, quota = cgroup_cpus();

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	if (quota > 0 && quota < n)
		n = quota;
	return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : n;
}
