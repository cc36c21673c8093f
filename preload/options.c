/* Options from the environment and the configuration file. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "hooks/dispatch.h"
#include "preload/preload.h"
#include "shared/near.h"
#include "runtime/base.h"
#include "runtime/digits.h"
#include "runtime/symtab.h"

#define MAX_WORKERS 1024
#define CONF	    "/etc/fibhook.conf"
#define CONF_MAX    65536

struct fib_options fib_options FIB_SEALED = { .log = FIB_LOG_WARN };

struct fib_file fib_stdout FIB_START;

extern char **environ;

/* Where the setting stands that is being read: NULL, the environment. */
static const char *conf_path FIB_START;
static int conf_line FIB_START;

static void bad_value(const char *name, const char *val, const char *used)
{
	if (conf_path)
		fib_warn("%s:%d: '%s' is not valid; using %s", conf_path,
			 conf_line, val, used);
	else
		fib_warn("FIBHOOK_%s: '%s' is not valid; using %s", name, val,
			 used);
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

static const char *disabled_by, *disable_value;

/* Who writes something there that is not clear does not want it to start. */
static void read_disable(const char *val)
{
	int is = truth_of(val);

	/* The environment has the last word. */
	fib_options.disable = is != 0;
	disabled_by = conf_path;
	disable_value = val;
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

/* A program may write its title over the environment: so it is copied. */
static void read_log_file(const char *val)
{
	static char name[PATH_MAX] FIB_LARGE;

	if (strlen(val) >= sizeof(name))
		bad_value("LOG_FILE", val, "standard error");
	else
		fib_options.log_file = *val ? strcpy(name, val) : NULL;
}

static void read_stats(const char *val)
{
	/* Some programs write their title over the environment. */
	static char name[PATH_MAX] FIB_LARGE;

	fib_options.stats_full =
		!strncmp(val, "full", 4) && (!val[4] || val[4] == ':');
	if (fib_options.stats_full)
		val = val[4] ? val + 5 : "stderr";
	if (!*val || strlen(val) >= sizeof(name))
		bad_value("STATS", val, "no statistics");
	else if (!strcmp(val, "-"))
		fib_options.stats = "stdout";
	else if (!strcmp(val, "1"))
		fib_options.stats = "stderr";
	else
		fib_options.stats = strcpy(name, val);
}

static void read_only(const char *val)
{
	fib_options.only = *val ? val : NULL;
}

static void read_except(const char *val)
{
	fib_options.except = *val ? val : NULL;
}

/* NUMBER, NUMBERK, NUMBERM: at least what a thread needs, at most 1 GiB. */
static void read_stack_size(const char *val)
{
	char *end;
	unsigned long n = strtoul(val, &end, 10);

	if (*end == 'K' || *end == 'k')
		n = n < 1ul << 30 ? n << 10 : n, end++;
	else if (*end == 'M' || *end == 'm')
		n = n < 1ul << 20 ? n << 20 : 1ul << 40, end++;
	if (*val < '0' || *val > '9' || *end || n < 16384 || n > 1ul << 30)
		bad_value("STACK_SIZE", val, "the program's own");
	else
		fib_options.stack_size = n;
}

/*
 * The next item of a list, whose items stand between commas, and perhaps blanks: *@at is
 * behind it then, and *@len its length. NULL: there is none left.
 */
static const char *next_item(const char **at, size_t *len)
{
	const char *item = *at + strspn(*at, ", \t");
	size_t n = strcspn(item, ",");

	*at = item + n;
	while (n && (item[n - 1] == ' ' || item[n - 1] == '\t'))
		n--;
	*len = n;
	return n ? item : NULL;
}

static void read_no_hook(const char *val)
{
	const char *item;
	size_t n;

	fib_options.no_hook = val;
	while ((item = next_item(&val, &n)))
		if (!fib_hooks_leave_out(item, n))
			bad_value("NO_HOOK", item,
				  "those of io, poll, sleep, uring alone");
}

/* CONF has been read before the others; TOLD is for fib_warn(). */
static void read_elsewhere(const char *val)
{
}

/* SEED, SEED:POINT,POINT..., or SEED:-POINT,POINT... */
static void read_chaos(const char *val)
{
	char *end;
	size_t len;

	errno = 0;
	fib_options.chaos = strtoull(val, &end, 10);
	if (*end == ':')
		fib_options.chaos_only = end + 1;
	if (*val < '0' || *val > '9' || (*end && *end != ':') || errno ||
	    (*end && fib_no_point(end + 1, &len))) {
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
	{ "CHAOS", read_chaos },     { "ONLY", read_only },
	{ "EXCEPT", read_except },   { "NO_HOOK", read_no_hook },
	{ "CONF", read_elsewhere },  { "STACK_SIZE", read_stack_size },
	{ "TOLD", read_elsewhere },  { "LOG_FILE", read_log_file },
};

/* @name need not end there: it has @len letters. False: no such option. */
static bool set(const char *name, size_t len, const char *val, bool log_alone)
{
	bool log = !strncmp(name, "LOG", 3);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strlen(options[i].name) != len ||
		    strncmp(options[i].name, name, len) != 0)
			continue;
		if (log == log_alone)
			options[i].read(val);
		return true;
	}
	return false;
}

/* What may have been meant by it, or NULL. */
static const char *near_to(const char *name, size_t len)
{
	const char *near = NULL;
	size_t least = FIB_NEAR;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t d = fib_distance(name, len, options[i].name);

		if (d < least) {
			least = d;
			near = options[i].name;
		}
	}
	return near;
}

static void no_such_option(const char *name, size_t len)
{
	const char *near = near_to(name, len);

	if (near)
		fib_warn("FIBHOOK_%.*s: no such option; ignored; did you mean "
			 "FIBHOOK_%s?",
			 (int)len, name, near);
	else
		fib_warn("FIBHOOK_%.*s: no such option; ignored", (int)len,
			 name);
}

/* --- the configuration file --------------------------------------------------- */

/* "name = value": what stands there without blanks around; false: neither. */
static bool split(char *line, char **name, char **val)
{
	char *eq = strchr(line, '='), *end;

	if (!eq)
		return false;
	*eq = 0;
	*name = line + strspn(line, " \t");
	(*name)[strcspn(*name, " \t")] = 0;
	*val = eq + 1 + strspn(eq + 1, " \t");
	end = *val + strlen(*val);
	while (end > *val && strchr(" \t\r", end[-1]))
		*--end = 0;
	/* As the variable is spelt: stack-size is STACK_SIZE. */
	for (char *p = *name; *p; p++)
		*p = *p == '-'		    ? '_' :
		     *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') :
					      *p;
	return **name;
}

/* Values stay where they are: options point to them. */
static void read_lines(char *text, bool log_alone)
{
	char *copy = strdup(text), *next = copy, *line;

	for (conf_line = 1; copy && (line = strsep(&next, "\n")); conf_line++) {
		char *name, *val;

		line += strspn(line, " \t\r");
		if (!*line || *line == '#')
			continue;
		if (!split(line, &name, &val)) {
			if (!log_alone)
				fib_warn("%s:%d: not of the form NAME = VALUE; "
					 "ignored",
					 conf_path, conf_line);
		} else if (!strcmp(name, "CONF") ||
			   !set(name, strlen(name), val, log_alone)) {
			if (!log_alone)
				fib_warn("%s:%d: there is no such option; "
					 "ignored",
					 conf_path, conf_line);
		}
	}
}

/*
 * By the call that ld.so has made too: a filter of before exec may know no other,
 * and it has not been tried yet. Before glibc 2.33 the function has another name.
 */
static int libc_fstat(int fd, struct stat *st)
{
	int (*now)(int, struct stat *) = fib_lookup("fstat", NULL);
	int (*before)(int, int, struct stat *) = fib_lookup("__fxstat", NULL);

	return now ? now(fd, st) : before ? before(1, fd, st) : -1;
}

static void note_file(struct fib_file *file, int fd)
{
	struct stat st;

	if (libc_fstat(fd, &st) == 0)
		*file = (struct fib_file){ true, st.st_dev, st.st_ino,
					   st.st_rdev };
}

/* All of a regular file that is not too large; NULL, and why in errno. */
static char *read_file(const char *path)
{
	int fd = (int)fib_raw(SYS_openat, AT_FDCWD, path,
			      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	long n = fd;

	if (fd >= 0)
		n = libc_fstat(fd, &st) ? -errno : 0;
	if (n >= 0 && (!S_ISREG(st.st_mode) || st.st_size > CONF_MAX))
		n = S_ISREG(st.st_mode) ? -EFBIG : -EINVAL;
	if (n >= 0) {
		text = malloc((size_t)st.st_size + 1);
		n = text ? fib_raw(SYS_read, fd, text, st.st_size) : -ENOMEM;
	}
	if (n >= 0)
		text[n] = 0;
	if (fd >= 0)
		fib_raw(SYS_close, fd);
	errno = n < 0 ? (int)-n : 0;
	return n < 0 ? NULL : text;
}

static void read_conf_file(void)
{
	const char *named = getenv("FIBHOOK_CONF");
	char *text;

	conf_path = named ? named : CONF;
	if (*conf_path) {
		text = read_file(conf_path);
		if (text) {
			read_lines(text, true);
			read_lines(text, false);
		} else if (named || errno != ENOENT) {
			fib_warn("%s: %s; not read", conf_path,
				 strerror(errno));
		}
	}
	conf_path = NULL;
}

/* --- is this program meant? ------------------------------------------------- */

/* Is one of the names of this program among @globs? */
static bool is_named(const char *globs)
{
	char exe[PATH_MAX], glob[256];
	long n = fib_raw(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe,
			 sizeof(exe) - 1);
	const char *slash, *item;
	size_t len;

	exe[n > 0 ? n : 0] = 0;
	slash = strrchr(exe, '/');
	while ((item = next_item(&globs, &len))) {
		if (len >= sizeof(glob))
			continue;
		memcpy(glob, item, len);
		glob[len] = 0;
		if (!fnmatch(glob, program_invocation_short_name, 0) ||
		    (slash && !fnmatch(glob, slash + 1, 0)))
			return true;
	}
	return false;
}

static void choose(void)
{
	char why[FIB_REASON_MAX];

	if (fib_options.disable)
		snprintf(why, sizeof(why), "%s%s=%s",
			 disabled_by ? disabled_by : "",
			 disabled_by ? ": disable" : "FIBHOOK_DISABLE",
			 disable_value);
	else if (fib_options.only && !is_named(fib_options.only))
		snprintf(why, sizeof(why), "not among those of --only: %s",
			 fib_options.only);
	else if (fib_options.except && is_named(fib_options.except))
		snprintf(why, sizeof(why), "among those of --except: %s",
			 fib_options.except);
	else
		return;
	fib_options.disable = true;
	fib_state_tell(FIB_STATE_DISABLED, why);
}

/*
 * A program with more rights than who starts it (set-id, capabilities of its
 * file) takes no order from the environment, and nothing is said or opened for
 * it: it runs as if the library were not there.
 */
void fib_options_read(void)
{
	const char *log = getenv("FIBHOOK_LOG");
	const char *file = getenv("FIBHOOK_LOG_FILE");
	int level;

	if (getauxval(AT_SECURE)) {
		fib_options.disable = true;
		fib_state_tell(FIB_STATE_DISABLED,
			       "it has more rights than who started it");
		fib_options.log = FIB_LOG_NONE;
		return;
	}
	note_file(&fib_stderr, STDERR_FILENO);
	note_file(&fib_stdout, STDOUT_FILENO);
	/* What is wrong in the file is told as the environment wants it. */
	if (file)
		read_log_file(file);
	if (log)
		read_log(log);
	level = fib_options.log;
	read_conf_file();
	if (log)
		fib_options.log = level;
	if (file)
		read_log_file(file);
	for (char **e = environ; e && *e; e++) {
		const char *name = *e + 8, *eq;

		if (strncmp(*e, "FIBHOOK_", 8) != 0)
			continue;
		eq = strchr(name, '=');
		if (eq && !set(name, (size_t)(eq - name), eq + 1, false))
			no_such_option(name, (size_t)(eq - name));
	}
	choose();
}

/* Small files of the kernel's, without stdio and its buffers. False: none there. */
static bool read_small(const char *path, char *buf, size_t size)
{
	int fd = (int)fib_raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	long n = 1;

	while (fd >= 0 && len < size - 1 && n > 0) {
		n = fib_raw(SYS_read, fd, buf + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		fib_raw(SYS_close, fd);
	buf[len] = 0;
	return len;
}

/* "max 100000" or "150000 100000": CPUs as a quota of a period. */
static int quota_of(const char *path)
{
	char buf[64];
	const char *at = buf;
	uint64_t quota, period;

	if (!read_small(path, buf, sizeof(buf)) || *at < '0' || *at > '9')
		return 0;
	quota = fib_get_decimal(&at);
	at += *at == ' ';
	period = fib_get_decimal(&at);
	return period ? (int)((quota + period - 1) / period) : 0;
}

/* The process's cgroup (v2) and those above it; the least quota counts. */
static int cgroup_cpus(void)
{
	char buf[8192], path[600], *line = buf, *slash;
	int least = 0;

	if (!read_small("/proc/self/cgroup", buf, sizeof(buf)))
		return 0;
	while (strncmp(line, "0::", 3) != 0) {
		line = strchr(line, '\n');
		if (!line++)
			return 0;
	}
	line[strcspn(line, "\n")] = 0;
	do {
		int n;

		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max",
			 line + 3);
		n = quota_of(path);
		if (n > 0 && (!least || n < least))
			least = n;
		slash = strrchr(line + 3, '/');
		if (slash)
			*slash = 0;
	} while (slash && slash != line + 3);
	return least;
}

int fib_cpus(void)
{
	cpu_set_t set;
	int n = 1, quota;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	quota = n > 1 ? cgroup_cpus() : 0;
	if (quota > 0 && quota < n)
		n = quota;
	return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : n;
}
