/* The counters, printed when the process ends. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include "hooks/report/report.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"

static int stats_fd = -1, stats_kept = -1;
static long stats_pid; /* of the process that left the runtime */
static struct fib_file stats_file;
static bool full;

void fib_stats_want_full(void)
{
	full = true;
	fib_waits_start();
}

void fib_stats_at_exit(int fd)
{
	stats_fd = fd;
	fib_file_note(&stats_file, fd);
	fib_fd_movable(&stats_fd);
}

/* A pipe that nobody reads must not keep a process from its end. */
static bool has_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec ts = { 0, 500000000 };

	return fib_raw(SYS_ppoll, &p, 1, &ts, 0, 8) != 0;
}

/*
 * What is printed when the process ends: one block, which begins with a line "#
 * fibhook". It is composed first and written at once, so that a reader of the file
 * sees all of it or nothing.
 */
static struct {
	char text[24576];
	size_t n;
} block FIB_LARGE;

static void put(const char *s)
{
	while (*s && block.n < sizeof(block.text) - 1)
		block.text[block.n++] = *s++;
}

static void put_number(uint64_t v)
{
	char digits[FIB_DECIMAL_MAX];

	fib_put_decimal(digits, v);
	put(digits);
}

static void put_head(void)
{
	uint64_t ms = (fib_now_ns() - fib_symtab.began_ns) / 1000000;

	put("# fibhook " FIB_VERSION " pid ");
	put_number((uint64_t)fib_raw(SYS_getpid));
	put(" workers ");
	put_number(fib_sched.target);
	put(" start ");
	put(fib_symtab.start);
	put(" seconds ");
	put_number(ms / 1000);
	put(".");
	for (unsigned d = 100; d; d /= 10)
		put_number(ms / d % 10);
	put(" program ");
	put(fib_symtab.program);
	put("\n");
}

/* With what workers have counted. */
static uint64_t total(unsigned i)
{
	uint64_t sum = fib_load(&fib_symtab.stats[i], relaxed);
	uint32_t n = fib_load(&fib_sched.workers, acquire);

	for (uint32_t k = 0; k < n; k++)
		sum += fib_load(&fib_sched.worker[k]->counts[i], relaxed);
	return sum;
}

static void compose(void)
{
	block.n = 0;
	put_head();
	for (unsigned i = 0; i < FIB_STATS; i++) {
		put(fib_stat_name(i));
		put(" ");
		put_number(total(i));
		put("\n");
	}
	if (full)
		fib_stats_full(put);
}

/* 0 or -errno. What is not written whole to a file is taken back. */
static long write_block(int fd)
{
	long r, before = fib_raw(SYS_lseek, fd, 0, SEEK_END);
	size_t done = 0;

	do {
		r = fib_raw(SYS_write, fd, block.text + done, block.n - done);
		done += r > 0 ? (size_t)r : 0;
		/* Of a file the next try tells why. A pipe may have no room. */
	} while (r > 0 && done < block.n && before >= 0);
	if (done < block.n && before >= 0)
		fib_raw(SYS_ftruncate, fd, before);
	return r < 0 ? r : done < block.n && before >= 0 ? -ENOSPC : 0;
}

static void tell_failure(long r)
{
	fib_host.log(r == -ENOSPC ?
			     "FIBHOOK_STATS: no space left on the device; "
			     "nothing was written" :
		     r == -EFBIG ? "FIBHOOK_STATS: the file would be larger "
				   "than is allowed; nothing was written" :
				   "FIBHOOK_STATS: the file cannot be written");
}

void fib_stats_print(int fd)
{
	uint64_t xfsz = 1ull << (SIGXFSZ - 1), mask;
	long r, none = 0;

	compose();
	if (!has_room(fd))
		return;
	/* What cannot be written whole must not end the process in our name. */
	fib_raw(SYS_rt_sigprocmask, SIG_BLOCK, &xfsz, &mask, 8);
	r = write_block(fd);
	if (r == -EFBIG) {
		struct timespec now = { 0, 0 };

		fib_raw(SYS_rt_sigtimedwait, &xfsz, none, &now, 8);
	}
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	if (r)
		tell_failure(r);
}

void fib_stats_end(void)
{
	/* Under a filter it may be killed for that. */
	if (stats_fd >= 0 && !fib_filtered() &&
	    fib_file_is(&stats_file, stats_fd))
		fib_stats_print(stats_fd);
}

/* Not for a vfork child, which has our memory. */
void fib_stats_left(void)
{
	if (stats_fd >= 0 && !fib_load(&fib_symtab.active, relaxed) &&
	    fib_raw(SYS_getpid) == stats_pid)
		fib_stats_end();
}

void fib_stats_keep(void)
{
	if (stats_fd >= 0)
		stats_kept =
			(int)fib_raw(SYS_fcntl, stats_fd, F_DUPFD_CLOEXEC, 3);
}

void fib_stats_resume(void)
{
	stats_pid = fib_raw(SYS_getpid);
	if (stats_kept >= 0)
		fib_stats_at_exit(fib_fd_hide(stats_kept));
	stats_kept = -1;
}

bool fib_stats_wanted(void)
{
	return stats_fd >= 0;
}
