/* fibhook trace PID [-t SECONDS] -o FILE, see trace.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/trace/trace.h"

static pid_t wanted;
static double seconds = 5;
static const char *file;

static int trace(void)
{
	dump_open(wanted);
	dump_table_need();
	if (!dump_tab.active)
		cli_fail(CLI_ERROR,
			 "process %d: no fibers run; see fibhook status",
			 (int)dump_pid);
	dump_process_name(); /* it may end while it is read */
	trace_read(seconds);
	trace_print();
	cli_say("process %d: %zu events%s", (int)dump_pid, trace_nrecords,
		trace_nrecords ? "" : ", since no fiber has gone on");
	if (trace_lost)
		cli_say("process %d: %lu events came too fast and are not "
			"there",
			(int)dump_pid, trace_lost);
	if (dump_ended())
		cli_say("process %d has ended, or become another program, "
			"after %.1f s",
			(int)dump_pid, trace_seconds());
	return 0;
}

/* --- the file ----------------------------------------------------------------- */

/* A device, a pipe: nothing that could be half of it. */
static bool is_plain(void)
{
	struct stat st;

	return stat(file, &st) != 0 || S_ISREG(st.st_mode);
}

static bool is_directory(void)
{
	struct stat st;

	return file[strlen(file) - 1] == '/' ||
	       (stat(file, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Before anything is asked of the process. */
static void check_file(void)
{
	char copy[PATH_MAX];

	if (!strcmp(file, "-"))
		return;
	if (strlen(file) >= sizeof(copy) - 16)
		cli_fail(CLI_USAGE, "trace: -o: the name is too long");
	if (is_directory())
		cli_fail(CLI_ERROR, "%s: %s", file, strerror(EISDIR));
	strcpy(copy, file);
	if (is_plain() ? access(dirname(copy), W_OK | X_OK) :
			 access(file, W_OK))
		cli_fail(CLI_ERROR, "%s: %s", file, strerror(errno));
}

/* 0 or errno. */
static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Beside the file, which it replaces when it is whole. */
static int replace(const char *data, size_t len)
{
	char path[PATH_MAX];
	mode_t mask = umask(0);
	sigset_t all, old;
	int fd, err;

	umask(mask);
	/* A limit of sizes, or who is tired of it, leaves no part behind. */
	signal(SIGXFSZ, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	snprintf(path, sizeof(path), "%s.XXXXXX", file);
	fd = mkostemp(path, O_CLOEXEC);
	err = fd < 0 ? errno : write_all(fd, data, len);
	if (!err &&
	    (fchmod(fd, 0666 & ~mask) || close(fd) || rename(path, file)))
		err = errno;
	if (err && fd >= 0)
		unlink(path);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

static int write_file(const char *data, size_t len)
{
	int fd, err;

	if (strcmp(file, "-") != 0 && is_plain())
		return replace(data, len);
	fd = strcmp(file, "-") ? open(file, O_WRONLY | O_CLOEXEC) :
				 STDOUT_FILENO;
	if (fd < 0)
		return errno;
	err = write_all(fd, data, len);
	return err;
}

/* --- the command ------------------------------------------------------------------ */

int cli_trace(int argc, char **argv)
{
	char *data;
	size_t len;
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-t"))
			seconds = cli_seconds("trace: -t", argv[++i],
					      TRACE_SECONDS_MAX);
		else if (!strcmp(argv[i], "-o"))
			file = argv[++i];
		else if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "trace: %s: no such option",
				 argv[i]);
		else if (wanted)
			cli_fail(CLI_USAGE, "trace: one process id is enough");
		else
			wanted = cli_pid("trace", argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE, "trace: which process? See fibhook --help");
	if (!file || !*file)
		cli_fail(CLI_USAGE, "trace: -o: to which file?");
	check_file();
	dump_guard_seconds += (int)seconds + 1;
	r = dump_guard_read(wanted, trace, false, &data, &len);
	if (r)
		return r;
	r = write_file(data, len);
	if (r)
		cli_fail(CLI_ERROR, "%s: %s; nothing was written", file,
			 strerror(r));
	return 0;
}
