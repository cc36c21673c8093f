/* Starting the server and its helper, waiting for them, ending them: run.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/run/run.h"

#define KEPT (64 << 20) /* bytes of what a child has written */

struct run_child run_server = { .out = -1, .err = -1 };
struct run_child run_helper = { .out = -1, .err = -1 };

static sigset_t taken, before;
static pid_t owner; /* the process that kills what is left */

int64_t run_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void leave_nothing(void)
{
	if (getpid() == owner)
		run_kill();
}

void run_init(void)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };

	sigemptyset(&taken);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction sa;

		/* What is ignored (nohup) stays so. */
		sigaction(signals[i], NULL, &sa);
		if (signals[i] == SIGCHLD || sa.sa_handler != SIG_IGN)
			sigaddset(&taken, signals[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &taken, &before);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		cli_fail(CLI_ERROR, "PR_SET_CHILD_SUBREAPER: %s",
			 strerror(errno));
	owner = getpid();
	atexit(leave_nothing);
}

/* --- starting --------------------------------------------------------------- */

/* A file in memory that is written at its end, however often it is cut. */
static int output(void)
{
	char path[64];
	int fd = memfd_create("fibhook-output", MFD_CLOEXEC), end;

	if (fd < 0)
		cli_fail(CLI_ERROR, "memfd_create: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	end = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	if (end < 0)
		cli_fail(CLI_ERROR, "%s: %s", path, strerror(errno));
	close(fd);
	return end;
}

static void forget(struct run_child *c)
{
	if (c->out >= 0)
		close(c->out);
	if (c->err >= 0)
		close(c->err);
	*c = (struct run_child){ .out = output(), .err = output() };
}

/* In the child: what it inherits is what the user has started us with. */
static void become_child(const struct run_child *c)
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	if (getppid() != owner || null < 0 || dup2(null, 0) < 0 ||
	    dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0)
		_exit(CLI_CANNOT);
	if (null > 2)
		close(null);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static pid_t fork_child(void)
{
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (pid < 0)
		cli_fail(CLI_ERROR, "fork: %s", strerror(errno));
	return pid;
}

void run_start(const char *path, char **argv, const char *library, bool counted)
{
	int go[2];
	char c;

	forget(&run_server);
	run_tree_reset();
	if (pipe2(go, O_CLOEXEC))
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	run_server.pid = fork_child();
	if (!run_server.pid) {
		become_child(&run_server);
		close(go[1]);
		/* The counter is there before the first call that counts. */
		if (read(go[0], &c, 1) != 1)
			_exit(CLI_CANNOT);
		if (library)
			cli_preload(library);
		cli_become(path, argv);
	}
	close(go[0]);
	setpgid(run_server.pid, run_server.pid);
	if (counted)
		run_count(run_server.pid);
	if (write(go[1], "", 1) != 1)
		cli_fail(CLI_ERROR, "pipe: %s", strerror(errno));
	close(go[1]);
}

void run_help(int (*work)(void *arg), void *arg)
{
	forget(&run_helper);
	run_helper.pid = fork_child();
	if (!run_helper.pid) {
		int r;

		become_child(&run_helper);
		r = work(arg);
		_exit(fflush(stdout) ? CLI_ERROR : r);
	}
	setpgid(run_helper.pid, run_helper.pid);
}

/* --- waiting ---------------------------------------------------------------- */

static void ended(struct run_child *c, int status)
{
	c->ended = true;
	c->status = status;
}

static void reap(void)
{
	struct rusage r;
	int status;
	pid_t pid;

	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) ||
		    !si.si_pid)
			return;
		/* As long as it is not reaped, its group is its own. */
		if (si.si_pid == run_helper.pid)
			kill(-si.si_pid, SIGKILL);
		pid = wait4(si.si_pid, &status, WNOHANG, &r);
		if (pid == run_helper.pid)
			ended(&run_helper, status);
		else if (pid == run_server.pid)
			ended(&run_server, status);
		if (pid > 0 && pid != run_helper.pid)
			run_tree_ended(&r);
	}
}

static void cut(const struct run_child *c)
{
	if (c->out >= 0 && lseek(c->out, 0, SEEK_END) > KEPT &&
	    ftruncate(c->out, 0))
		return;
	if (c->err >= 0 && lseek(c->err, 0, SEEK_END) > KEPT &&
	    ftruncate(c->err, 0))
		return;
}

void run_pause(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };
	int sig;

	reap();
	sig = sigtimedwait(&taken, NULL, &ts);
	if (sig > 0 && sig != SIGCHLD) {
		run_kill();
		sigprocmask(SIG_SETMASK, &before, NULL);
		signal(sig, SIG_DFL);
		raise(sig);
	}
	reap();
	cut(&run_server);
}

/* --- ending ----------------------------------------------------------------- */

static void signal_all(const pid_t *pids, size_t n, int sig)
{
	for (size_t i = 0; i < n; i++)
		kill(pids[i], sig);
}

/* Of a server in the background, those that are our children by now. */
static void ask(void)
{
	pid_t pids[RUN_TREE_MAX];
	size_t n;

	if (!run_server.ended) {
		kill(run_server.pid, SIGTERM);
		return;
	}
	n = run_children(pids, RUN_TREE_MAX);
	signal_all(pids, n, SIGTERM);
}

/*
 * A process that forks and ends while the tree is read may not be in it, nor its
 * child. But what is below us is below a child of ours: none, and nothing is.
 */
static bool is_childless(void)
{
	siginfo_t si;

	reap();
	return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) &&
	       errno == ECHILD;
}

void run_kill(void)
{
	pid_t pids[RUN_TREE_MAX];
	size_t n;

	/* Until none is left: those that fork meanwhile are found next time. */
	for (;;) {
		if (run_helper.pid && !run_helper.ended)
			kill(-run_helper.pid, SIGKILL);
		n = run_everything(pids, RUN_TREE_MAX);
		signal_all(pids, n, SIGKILL);
		reap();
		if (!n && is_childless())
			return;
		sigtimedwait(&taken, NULL, &(struct timespec){ 0, 10000000 });
		reap();
	}
}

bool run_gone(void)
{
	pid_t pids[RUN_TREE_MAX];
	int looks = 0;

	/* The helper is a child as well: several looks, then. */
	do {
		if (run_tree(pids, RUN_TREE_MAX))
			return false;
		if (!run_helper.pid || run_helper.ended)
			return is_childless();
		reap();
	} while (!run_server.ended || looks++ < 3);
	return true;
}

bool run_stop(double seconds)
{
	int64_t deadline = run_now_ns() + (int64_t)(seconds * 1e9);

	ask();
	while (!run_gone()) {
		if (run_now_ns() > deadline) {
			run_kill();
			return false;
		}
		run_pause(20);
	}
	return true;
}

/* --- what they said ----------------------------------------------------------- */

static bool last_line_of(int fd, char *line, size_t size)
{
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
	ssize_t n = end > 0 ? pread(fd, line, size - 1, from) : 0;
	char *newline;

	while (n > 0 && strchr(" \t\r\n", line[n - 1]))
		n--;
	if (n <= 0)
		return false;
	line[n] = 0;
	newline = strrchr(line, '\n');
	if (newline)
		memmove(line, newline + 1, strlen(newline));
	return true;
}

const char *run_last_line(const struct run_child *c)
{
	char line[512];

	if (last_line_of(c->err, line, sizeof(line)) ||
	    last_line_of(c->out, line, sizeof(line)))
		return cli_text(line);
	return "";
}

const char *run_how(int status)
{
	static char how[96];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(how, sizeof(how), "with status %d",
			 WEXITSTATUS(status));
	return how;
}
