/*
 * The time that a dump may take.
 *
 * What is read may hang: a page that its process serves itself (userfaultfd,
 * FUSE), a file of a server that is gone, a list under a lock that is held. And
 * what is fed to libunwind may break it. So a child does the work, and writes
 * to pipes; its parent, which touches nothing of the process, collects what
 * comes, ends the child when its time is up, and prints. To print may take as
 * long as it likes: it is not counted.
 *
 * The child ends with its parent, and the kernel lets its tracees go. Where
 * not even SIGKILL ends a read, the child stays until its file does; so it has
 * no descriptor by which somebody would wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/dump.h"
#include "runtime/compat.h"

#define CHUNK	   (64ul << 10)
#define REAP_TRIES 300 /* a millisecond each */

/* What the child writes to one of its descriptors. */
struct stream {
	int pipe, from, to; /* from: -1 at the end of it */
	char *data;
	size_t len, room;
};

int dump_guard_seconds = DUMP_SECONDS;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void take(struct stream *s)
{
	ssize_t n;

	if (s->room < s->len + CHUNK) {
		s->room = 2 * (s->len + CHUNK);
		s->data = realloc(s->data, s->room);
		if (!s->data)
			cli_fail(CLI_ERROR, "out of memory");
	}
	n = read(s->from, s->data + s->len, CHUNK);
	if (n > 0)
		s->len += (size_t)n;
	else if (n == 0 || errno != EINTR)
		s->from = -1;
}

/* True: the child has closed both. */
static bool collect(struct stream s[2], int64_t until)
{
	while (s[0].from >= 0 || s[1].from >= 0) {
		struct pollfd p[2] = { { s[0].from, POLLIN, 0 },
				       { s[1].from, POLLIN, 0 } };
		int64_t left = until - now_ms();

		if (left <= 0 || s[0].len + s[1].len >= DUMP_OUTPUT)
			return false;
		if (poll(p, 2, (int)left) <= 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				take(&s[i]);
	}
	return true;
}

/* Its status; -1 where it is in a call that even SIGKILL does not end. */
static int reap(pid_t child)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int status;

	for (int i = 0; i < REAP_TRIES; i++) {
		pid_t r = waitpid(child, &status, WNOHANG);

		if (r == child)
			return status;
		if (r < 0 && errno != EINTR)
			return -1;
		nanosleep(&ms, NULL);
	}
	return -1;
}

/* A line that was cut short is not printed. */
static void print(struct stream *s, bool whole)
{
	while (!whole && s->len && s->data[s->len - 1] != '\n')
		s->len--;
	for (size_t at = 0; at < s->len;) {
		ssize_t n = write(s->to, s->data + at, s->len - at);

		if (n < 0 && errno != EINTR) {
			/* A message that nobody reads is no failure. */
			if (s->to == STDERR_FILENO)
				return;
			cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
		}
		if (n > 0)
			at += (size_t)n;
	}
}

/* It may stay behind, in a read that does not end, and then holds nothing. */
static void child(const int to[2], pid_t parent, int (*work)(void))
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CLI_ERROR);
	/* A dump that is suspended holds nobody up. */
	signal(SIGTSTP, SIG_IGN);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(to[0], STDOUT_FILENO) < 0 ||
	    dup2(to[1], STDERR_FILENO) < 0)
		_exit(CLI_ERROR);
	syscall(SYS_close_range, 3, ~0u, 0);
	null = work();
	fflush(stdout);
	_exit(null);
}

static int high(int fd)
{
	int to = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (to < 0)
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	close(fd);
	return to;
}

static void make_pipe(struct stream *s, int *write_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	s->from = s->pipe = high(ends[0]);
	*write_end = high(ends[1]);
}

static int run(pid_t pid, int (*work)(void), struct stream s[2])
{
	pid_t me = getpid(), worker;
	int to[2], status;
	bool done;

	dump_pid = pid;
	make_pipe(&s[0], &to[0]);
	make_pipe(&s[1], &to[1]);
	signal(SIGCHLD, SIG_DFL); /* or there is nothing to wait for */
	fflush(stdout);
	worker = fork();
	if (worker < 0)
		cli_fail(CLI_ERROR, "fork: %s", strerror(errno));
	if (!worker)
		child(to, me, work);
	close(to[0]);
	close(to[1]);
	done = collect(s, now_ms() + dump_guard_seconds * 1000ll);
	if (!done)
		kill(worker, SIGKILL);
	status = reap(worker);
	return done ? status : -1;
}

/* What is told of how the child came to its end; what it has returned. */
static int tell(int status, bool much, bool quiet)
{
	if (status >= 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	if (quiet)
		return CLI_ERROR;
	if (status >= 0)
		cli_say("%s: reading it ended by signal %d", dump_what(),
			WTERMSIG(status));
	else if (much)
		cli_say("%s: given up after %lu MiB", dump_what(),
			DUMP_OUTPUT >> 20);
	else
		cli_say("%s: given up after %d s; what was read by then is "
			"above",
			dump_what(), dump_guard_seconds);
	return CLI_ERROR;
}

static void discard(struct stream *s)
{
	free(s->data);
	close(s->pipe);
}

int dump_guard(pid_t pid, int (*work)(void), bool quiet)
{
	struct stream s[2] = { { .to = STDOUT_FILENO },
			       { .to = STDERR_FILENO } };
	int status = run(pid, work, s);
	bool much = s[0].len >= DUMP_OUTPUT;

	print(&s[0], status >= 0 && WIFEXITED(status));
	if (!quiet)
		print(&s[1], true);
	discard(&s[0]);
	discard(&s[1]);
	return tell(status, much, quiet);
}

int dump_guard_read(pid_t pid, int (*work)(void), bool quiet, char **data,
		    size_t *len)
{
	struct stream s[2] = { { .to = STDOUT_FILENO },
			       { .to = STDERR_FILENO } };
	int status = run(pid, work, s), r;
	bool done = status >= 0 && WIFEXITED(status);

	*data = NULL;
	*len = 0;
	if (done && !WEXITSTATUS(status)) {
		*data = s[0].data;
		*len = s[0].len;
		s[0].data = NULL;
	}
	if (!quiet)
		print(&s[1], true);
	r = tell(status, s[0].len >= DUMP_OUTPUT, quiet);
	discard(&s[0]);
	discard(&s[1]);
	return r;
}
