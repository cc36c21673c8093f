/*
 * The time that a dump may take.
 *
 * What is read may hang: a page that its process serves itself (userfaultfd,
 * FUSE), a file of a server that is gone, a list under a lock that is held. And
 * what is fed to libunwind may break it. So a child does the work, and writes
 * to a pipe; its parent, which touches nothing of the process, collects what
 * comes, ends the child when its time is up, and prints. To print may take as
 * long as it likes: it is not counted.
 *
 * The child ends with its parent, and the kernel lets its tracees go.
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
#include "preload/cli.h"
#include "preload/dump.h"

#define CHUNK (64ul << 10)

static char *output;
static size_t length;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* True: the child has closed the pipe. */
static bool collect(int from, int64_t until)
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	size_t room = 0;

	for (;;) {
		int64_t left = until - now_ms();
		ssize_t n;

		if (left <= 0 || length >= DUMP_OUTPUT)
			return false;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		if (room < length + CHUNK) {
			room = 2 * (length + CHUNK);
			output = realloc(output, room);
		}
		if (!output)
			cli_fail(CLI_ERROR, "out of memory");
		n = read(from, output + length, CHUNK);
		if (n <= 0)
			return n == 0;
		length += (size_t)n;
	}
}

/* Its status; -1 where it is in a call that even SIGKILL does not end. */
static int reap(pid_t child)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int status;

	for (int i = 0; i < 500; i++) {
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
static void print(bool whole)
{
	while (!whole && length && output[length - 1] != '\n')
		length--;
	for (size_t at = 0; at < length;) {
		ssize_t n = write(STDOUT_FILENO, output + at, length - at);

		if (n < 0 && errno != EINTR)
			cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
		if (n > 0)
			at += (size_t)n;
	}
}

static void child(int to, pid_t parent, void (*work)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CLI_ERROR);
	/* A dump that is suspended holds nobody up. */
	signal(SIGTSTP, SIG_IGN);
	if (dup2(to, STDOUT_FILENO) < 0)
		cli_fail(CLI_ERROR, "dup2: %s", strerror(errno));
	work();
	fflush(stdout);
	_exit(0);
}

static int high(int fd)
{
	int to = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (to < 0)
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	close(fd);
	return to;
}

int dump_guard(pid_t pid, void (*work)(void))
{
	pid_t me = getpid(), worker;
	int ends[2], status;
	bool done;

	if (pipe2(ends, O_CLOEXEC))
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	ends[0] = high(ends[0]);
	ends[1] = high(ends[1]);
	signal(SIGCHLD, SIG_DFL); /* or there is nothing to wait for */
	worker = fork();
	if (worker < 0)
		cli_fail(CLI_ERROR, "fork: %s", strerror(errno));
	if (!worker)
		child(ends[1], me, work);
	close(ends[1]);
	done = collect(ends[0], now_ms() + DUMP_SECONDS * 1000);
	if (!done)
		kill(worker, SIGKILL);
	status = reap(worker);
	print(done && WIFEXITED(status));
	if (!done && length >= DUMP_OUTPUT)
		cli_fail(CLI_ERROR, "process %d: given up after %lu MiB",
			 (int)pid, DUMP_OUTPUT >> 20);
	if (!done)
		cli_fail(CLI_ERROR,
			 "process %d: given up after %d s; what was read by "
			 "then is above",
			 (int)pid, DUMP_SECONDS);
	if (!WIFEXITED(status))
		cli_fail(CLI_ERROR, "process %d: reading it ended by signal %d",
			 (int)pid, WTERMSIG(status));
	return WEXITSTATUS(status);
}
