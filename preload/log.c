/*
 * Lines of the library: "fibhook[PID PROGRAM]: ...", to what was standard error
 * when the program was started, or to where FIBHOOK_LOG_FILE says.
 *
 * That file is opened for each line while the process has one thread, which so
 * sees no number taken; while fibers run there is a descriptor of our own, which
 * the program does not see (runtime/hidden.h). It is written to only as long as it
 * is the file that was opened. What cannot be written there goes to standard error.
 *
 * A filter may kill for what opening takes: nothing is opened under one, but when
 * it is known to allow what fibers need.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "preload/preload.h"
#include "runtime/hidden.h"
#include "runtime/symtab.h"
#include "shared/text.h"

#define TEXT_MAX  1024
#define LINE_MAX_ (TEXT_MAX + FIB_LINE_HEAD + 8)
#define TOLD	  "FIBHOOK_TOLD"
#define TOLD_MAX  256 /* bytes of its value */

static bool failed; /* to open it: said, and not tried again */
static bool to_stderr;

static bool is_syslog(void)
{
	return !strcmp(fib_options.log_file, "syslog");
}

/* --- one line ---------------------------------------------------------------- */

static size_t compose_line(char *line, const char *text)
{
	size_t n = fib_line_head(line, false);

	n += strlen(strcpy(line + n, text));
	line[n++] = '\n';
	return n;
}

/* As syslog(3) has it: user.warning or user.info. */
static size_t compose_message(char *line, const char *text, enum fib_log level)
{
	size_t n =
		strlen(strcpy(line, level == FIB_LOG_INFO ? "<14>" : "<12>"));

	n += fib_line_head(line + n, true);
	return n + strlen(strcpy(line + n, text));
}

static bool put_stderr(const char *text)
{
	char line[LINE_MAX_];
	size_t n = compose_line(line, text);

	return fib_file_is(&fib_stderr, STDERR_FILENO) &&
	       fib_raw(SYS_write, STDERR_FILENO, line, n) >= 0;
}

/* What the file may not hold any more must not end the process in our name. */
static bool put_quietly(int fd, const char *line, size_t n)
{
	uint64_t xfsz = 1ull << (SIGXFSZ - 1), mask;
	struct timespec now = { 0, 0 };
	long r, none = 0;

	fib_raw(SYS_rt_sigprocmask, SIG_BLOCK, &xfsz, &mask, 8);
	r = fib_raw(SYS_write, fd, line, n);
	if (r == -EFBIG)
		fib_raw(SYS_rt_sigtimedwait, &xfsz, none, &now, 8);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	return r == (long)n;
}

static long meet_syslog(int fd)
{
	static const struct sockaddr_un log = { AF_UNIX, "/dev/log" };

	return fib_raw(SYS_connect, fd, &log, sizeof(log));
}

static bool put_there(int fd, const char *text, enum fib_log level)
{
	char line[LINE_MAX_];
	size_t n;

	if (!is_syslog())
		return put_quietly(fd, line, compose_line(line, text));
	n = compose_message(line, text, level);
	/* Who listened there may have been started anew. */
	return put_quietly(fd, line, n) ||
	       (meet_syslog(fd) >= 0 && put_quietly(fd, line, n));
}

/* --- where FIBHOOK_LOG_FILE says ------------------------------------------------ */

/* Which no call is made for that a start of the program does not make too. */
static bool may_be_filtered(void)
{
	char status[4096], *at;
	long fd, n;

	if (fib_filter_is_own())
		return true;
	fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/self/status",
		     O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = fib_raw(SYS_read, fd, status, sizeof(status) - 1);
	fib_raw(SYS_close, fd);
	status[n < 0 ? 0 : n] = 0;
	at = strstr(status, "\nSeccomp:");
	return at && atoi(at + 9);
}

/* A descriptor, or -errno. */
static int open_it(void)
{
	long fd, r;

	if (!is_syslog())
		return fib_tell_open(fib_options.log_file);
	fd = fib_raw(SYS_socket, AF_UNIX,
		     SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return (int)fd;
	r = meet_syslog((int)fd);
	if (r >= 0)
		return (int)fd;
	fib_raw(SYS_close, fd);
	return (int)r;
}

static void tell_failure(int err)
{
	char why[TEXT_MAX / 2], text[TEXT_MAX];

	failed = true;
	if (FIB_LOG_WARN > fib_options.log)
		return;
	snprintf(why, sizeof(why), "FIBHOOK_LOG_FILE: cannot open %s: %s; using stderr",
		 fib_options.log_file, fib_tell_error(err));
	put_stderr(fib_text(text, sizeof(text), why, sizeof(why), false));
}

void fib_log_open(bool filtered)
{
	int fd;

	if (!fib_options.log_file || failed || (filtered && is_syslog()))
		return;
	fd = open_it();
	if (fd < 0) {
		tell_failure(fd);
		return;
	}
	fd = fib_fd_hide(fd);
	fib_file_note(&fib_line_out.file, fd);
	fib_store(&fib_line_out.fd, fd, release);
	fib_fd_movable((int *)&fib_line_out.fd);
}

void fib_log_stderr(bool only)
{
	to_stderr = only;
}

/* The process has one thread. */
static bool put_once(const char *text, enum fib_log level)
{
	bool done;
	int fd;

	if (!fib_options.log_file || failed || may_be_filtered())
		return false;
	fd = open_it();
	if (fd < 0) {
		tell_failure(fd);
		return false;
	}
	done = put_there(fd, text, level);
	fib_raw(SYS_close, fd);
	return done;
}

static bool put_own(const char *text, enum fib_log level)
{
	unsigned use = fib_fd_use();
	int fd = fib_load(&fib_line_out.fd, acquire);
	bool done = fd >= 0 && fib_file_is(&fib_line_out.file, fd) &&
		    put_there(fd, text, level);

	fib_fd_used(use);
	return done;
}

static bool put(const char *text, enum fib_log level)
{
	bool active = fib_load(&fib_symtab.active, relaxed);

	return (!to_stderr &&
		(active ? put_own(text, level) : put_once(text, level))) ||
	       put_stderr(text);
}

/* --- once in a tree of processes -------------------------------------------------- */

/*
 * What has been told is in the environment, for those that are started from here:
 * a sum of each text. True: @text is there. Its @mark is put there later.
 */
static bool told_before(const char *text, char mark[10])
{
	const char *told = getenv(TOLD);
	uint32_t sum = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		sum = (sum ^ (uint8_t)*text) * 16777619u;
	snprintf(mark, 10, ",%08x", sum);
	return told && strstr(told, mark);
}

static void have_told(const char *mark)
{
	const char *told = getenv(TOLD);
	char now[TOLD_MAX];

	if (snprintf(now, sizeof(now), "%s%s", told ? told : "", mark) <
	    (int)sizeof(now))
		setenv(TOLD, now, 1);
}

static const char *compose(char *out, const char *fmt, va_list ap)
{
	char text[TEXT_MAX / 2];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* It may name files and values of the environment. */
	return fib_text(out, TEXT_MAX, text, sizeof(text), false);
}

void fib_log(enum fib_log level, const char *fmt, ...)
{
	char text[TEXT_MAX];
	int saved = errno;
	va_list ap;

	if ((int)level > fib_options.log)
		return;
	va_start(ap, fmt);
	put(compose(text, fmt, ap), level);
	va_end(ap);
	errno = saved;
}

void fib_warn(const char *fmt, ...)
{
	char text[TEXT_MAX], mark[10];
	int saved = errno;
	va_list ap;

	if (FIB_LOG_WARN > fib_options.log)
		return;
	va_start(ap, fmt);
	compose(text, fmt, ap);
	va_end(ap);
	if (!told_before(text, mark) && put(text, FIB_LOG_WARN))
		have_told(mark);
	errno = saved;
}

void fib_log_plain(const char *text)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct timespec now = { 0, 0 };

	if (FIB_LOG_WARN <= fib_options.log && !put_own(text, FIB_LOG_WARN) &&
	    fib_raw(SYS_ppoll, &p, 1, &now, 0, 8) > 0)
		put_stderr(text);
}
