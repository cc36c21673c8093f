/*
 * May the runtime start? Nothing is changed here; what is found out about the process
 * on the way is told as well (struct fib_found). A filter of seccomp may take offence
 * at any call, so it is looked at before any other call is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "hooks/core/hook.h"
#include "hooks/process/process.h"
#include "preload/preload.h"

const char fib_obstacle_later[] = "";

static const char *in_words(long err)
{
	switch (-err) {
	case EMFILE:
	case ENFILE:
		return "too few descriptors";
	case EAGAIN:
		return "too few processes are allowed";
	case ENOMEM:
		return "out of memory";
	case EPERM:
	case EACCES:
		return "not permitted";
	case ENOSYS:
		return "the kernel or a filter does not have it";
	}
	return NULL;
}

const char *fib_because(const char *what, long err)
{
	static char reason[128];
	const char *words = in_words(err);

	if (words)
		snprintf(reason, sizeof(reason), "%s (%s)", words, what);
	else
		snprintf(reason, sizeof(reason), "%s: error %ld", what, -err);
	return reason;
}

struct status {
	int threads, seccomp;
};

/* The first bytes of the file at @path, as a string: 0 or -errno. */
static long read_file(const char *path, char *buf, size_t size)
{
	int fd = (int)fib_raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return fd;
	n = fib_raw(SYS_read, fd, buf, size - 1);
	fib_raw(SYS_close, fd);
	if (n < 0)
		return n;
	buf[n] = 0;
	return 0;
}

static const char *read_status(struct status *st)
{
	const char *const path = "/proc/self/status";
	char buf[4096], *p;
	long r = read_file(path, buf, sizeof(buf));

	if (r == -ENOENT)
		return "/proc is not mounted: threads cannot be counted";
	if (r < 0)
		return fib_because(path, r);
	p = strstr(buf, "\nThreads:");
	if (!p)
		return "/proc/self/status tells no number of threads";
	st->threads = atoi(p + 9);
	p = strstr(buf, "\nSeccomp:");
	st->seccomp = p ? atoi(p + 9) : 0;
	return NULL;
}

/* NULL, or why not. Says nothing if that could be against the filter. */
static const char *try_filter(bool inherited, struct fib_found *found)
{
	static char reason[128];
	struct fib_filter_report report;
	int r = fib_filter_try(&report, 0, (long[6]){ 0 }, inherited);

	found->may_ask = report.may_ask;
	if (r == 0)
		return NULL;
	found->silent = !report.may_log;
	found->denied = true;
	if (r != -EPERM)
		return fib_because("a seccomp filter is in force: clone3", r);
	snprintf(reason, sizeof(reason), "a seccomp filter %s %s",
		 report.killed ? "kills for" : "denies",
		 report.call ? report.call : "a call");
	return reason;
}

/* Each switch reads it. */
static bool no_clock(void)
{
	int mode = 0;

	return fib_raw(SYS_prctl, PR_GET_TSC, &mode) == 0 &&
	       mode == PR_TSC_SIGSEGV;
}

/*
 * Timers that were made for the first kernel thread. Those that send their signal to
 * nobody else: into a queue that only that thread reads, and a worker blocks it. Those
 * on its CPU clock: main is to have it to itself. Of those that are made later the
 * program's thread is known (hooks/signal/timer.c).
 */
struct thread_timers {
	bool signal, clock;
};

static void note_timer(const char *line, struct thread_timers *timers)
{
	static const char key[] = "ClockID:";
	bool is_clock = strncmp(line, key, sizeof(key) - 1) == 0;
	int clock = is_clock ? atoi(line + sizeof(key) - 1) : 0;

	if (strstr(line, "/tid."))
		timers->signal = true;
	/* linux/posix-timers_types.h: negative, and per thread */
	if (clock < 0 && (clock & 4))
		timers->clock = true;
}

static struct thread_timers find_thread_timers(void)
{
	struct thread_timers timers = { 0 };
	size_t have = 0;
	char buf[4096], *line, *end;
	long n;
	/* not there without CONFIG_CHECKPOINT_RESTORE */
	int fd = (int)fib_raw(SYS_openat, AT_FDCWD, "/proc/self/timers",
			      O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (n = fib_raw(SYS_read, fd, buf + have,
				       sizeof(buf) - 1 - have)) > 0) {
		have += (size_t)n;
		buf[have] = 0;
		for (line = buf; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			note_timer(line, &timers);
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	if (fd >= 0)
		fib_raw(SYS_close, fd);
	return timers;
}

const char *fib_obstacle(bool early, struct fib_found *found)
{
	bool own = fib_filter_is_own();
	struct thread_timers timers;
	struct status st;
	const char *why = fib_cpu_obstacle();

	*found = (struct fib_found){ 0 };
	if (why)
		return why;
	if (own)
		why = early ? fib_obstacle_later : try_filter(false, found);
	if (!why)
		why = read_status(&st);
	if (!why && !own && st.seccomp)
		why = early ? fib_obstacle_later : try_filter(true, found);
	if (why)
		return why;
	found->filtered = own || st.seccomp;
	if (st.threads != 1)
		return "the process has more than one thread already";
	if ((!found->filtered || found->may_ask) && no_clock())
		return "the processor's clock may not be read (PR_SET_TSC)";
	timers = find_thread_timers();
	found->clock_timer = timers.clock;
	if (timers.signal)
		return "a timer of the first thread alone (SIGEV_THREAD_ID)";
	if (!fib_cpu_host_reg_is_free())
		return "%gs is in use by the program";
	return NULL;
}
