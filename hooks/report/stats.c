/* The counters, printed when the process ends. */
#include <fcntl.h>
#include <poll.h>
#include "hooks/report/report.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"

static int stats_fd = -1, stats_kept = -1;
static long stats_pid; /* of the process that left the runtime */
static struct fib_file stats_file;

void fib_stats_at_exit(int fd)
{
	stats_fd = fd;
	fib_file_note(&stats_file, fd);
}

/* A pipe that nobody reads must not keep a process from its end. */
static bool has_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec ts = { 0, 500000000 };

	return fib_raw(SYS_ppoll, &p, 1, &ts, 0, 8) != 0;
}

void fib_stats_print(int fd)
{
	char line[96];

	for (unsigned i = 0; i < FIB_STATS; i++) {
		const char *name = fib_stat_name(i);
		unsigned n = 0;

		while (name[n] && n < 64) {
			line[n] = name[n];
			n++;
		}
		line[n++] = ' ';
		n += fib_put_decimal(line + n,
				     fib_load(&fib_symtab.stats[i], relaxed));
		line[n++] = '\n';
		if (!has_room(fd))
			return;
		fib_raw(SYS_write, fd, line, n);
	}
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
