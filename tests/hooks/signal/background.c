/*
 * A process in the background that reads from its terminal, writes to it with
 * TOSTOP set, or changes it, is stopped, and goes on when it is continued in the
 * foreground. What ignores or blocks the signal has EIO from a read, and may
 * write. A handler of SIGCONT without SA_RESTART ends the call.
 *
 * t-case: read
 * t-case: read ready
 * t-case: read ignored
 * t-case: read blocked
 * t-case: read handled
 * t-case: read continued
 * t-case: read orphan
 * t-case: write plain
 * t-case: write tostop
 * t-case: write continued
 * t-case: write ignored
 * t-case: tcsetattr stops
 * t-case: tcsetattr continued
 * t-case: tcsetattr ignored
 * t-case: tcsetattr handled
 * t-case: tcsetpgrp stops
 * t-case: tcsetpgrp orphan
 * t-case: tcdrain stops
 * t-case: read_nothing stops
 * t-case: read_nothing orphan
 * t-case: read_wronly stops
 * t-case: readv_nothing stops
 * t-case: preadv2 stops
 * t-case: splice_in stops
 * t-case: splice_in_full stops
 * t-case: sendfile_in stops
 * t-case: write_nothing tostop
 * t-case: write_nothing plain
 * t-case: writev_nothing tostop
 * t-case: pwritev2 tostop
 * t-case: splice_out tostop
 * t-case: splice_out_empty tostop
 * t-case: splice_out plain
 * t-case: sendfile_out tostop
 * t-case: sendfile_out_end tostop
 * t-case: master_setattr stops
 * t-case: master_setattr ignored
 * t-case: master_setpgrp stops
 * t-case: master_flush stops
 */
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <termios.h>
#include "t.h"

static const char *how;
static int master, tty, up[2];
static volatile sig_atomic_t ran;

static void on_sig(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	CHECK(info->si_code == SI_KERNEL && !info->si_pid && !info->si_uid);
	ran++;
}

static void on_cont(int sig)
{
	(void)sig;
	ran++;
}

/* --- what it does ----------------------------------------------------------------- */

static char b[16] = "out\n";
static int ends[2]; /* a pipe */

static long do_read(void)
{
	return read(tty, b, sizeof(b));
}

static long do_read_nothing(void)
{
	return read(tty, b, 0);
}

static long do_read_wronly(void)
{
	return read(open(ttyname(tty), O_WRONLY | O_NOCTTY), b, sizeof(b));
}

static long do_readv_nothing(void)
{
	return readv(tty, &(struct iovec){ b, 0 }, 1);
}

static long do_preadv2(void)
{
	return preadv2(tty, &(struct iovec){ b, sizeof(b) }, 1, -1, RWF_HIPRI);
}

static long do_splice_in(void)
{
	return splice(tty, NULL, ends[1], NULL, 16, 0);
}

static long do_splice_in_full(void)
{
	CHECK(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
	CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(ends[1], b, 1) == 1)
		;
	return splice(tty, NULL, ends[1], NULL, 16, 0);
}

static long do_sendfile_in(void)
{
	return sendfile(ends[1], tty, NULL, 16);
}

static long do_write(void)
{
	return write(tty, b, 4);
}

static long do_write_nothing(void)
{
	return write(tty, b, 0);
}

static long do_writev_nothing(void)
{
	return writev(tty, &(struct iovec){ b, 0 }, 1);
}

static long do_pwritev2(void)
{
	return pwritev2(tty, &(struct iovec){ b, 4 }, 1, -1, RWF_HIPRI);
}

static long do_splice_out(void)
{
	t_write(ends[1], b, 4);
	return splice(ends[0], NULL, tty, NULL, 4, 0);
}

static long do_splice_out_empty(void)
{
	return splice(ends[0], NULL, tty, NULL, 4, SPLICE_F_NONBLOCK);
}

static int file_of(off_t size)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && ftruncate(fd, size) == 0);
	return fd;
}

static long do_sendfile_out(void)
{
	return sendfile(tty, file_of(4), NULL, 4);
}

static long do_sendfile_out_end(void)
{
	return sendfile(tty, file_of(0), NULL, 4);
}

static long set_modes_of(int fd)
{
	struct termios t;

	CHECK(tcgetattr(fd, &t) == 0);
	return tcsetattr(fd, TCSANOW, &t);
}

static long do_tcsetattr(void)
{
	return set_modes_of(tty);
}

static long do_tcsetpgrp(void)
{
	return tcsetpgrp(tty, getpgrp());
}

static long do_tcdrain(void)
{
	return tcdrain(tty);
}

static long do_master_setattr(void)
{
	return set_modes_of(master);
}

static long do_master_setpgrp(void)
{
	return tcsetpgrp(master, getpgrp());
}

static long do_master_flush(void)
{
	return tcflush(master, TCIFLUSH);
}

static const struct act {
	const char *name;
	long (*fn)(void);
	int sig;
} acts[] = {
	{ "read", do_read, SIGTTIN },
	{ "read_nothing", do_read_nothing, SIGTTIN },
	{ "read_wronly", do_read_wronly, SIGTTIN },
	{ "readv_nothing", do_readv_nothing, SIGTTIN },
	{ "preadv2", do_preadv2, SIGTTIN },
	{ "splice_in", do_splice_in, SIGTTIN },
	{ "splice_in_full", do_splice_in_full, SIGTTIN },
	{ "sendfile_in", do_sendfile_in, SIGTTIN },
	{ "write", do_write, SIGTTOU },
	{ "write_nothing", do_write_nothing, SIGTTOU },
	{ "writev_nothing", do_writev_nothing, SIGTTOU },
	{ "pwritev2", do_pwritev2, SIGTTOU },
	{ "splice_out", do_splice_out, SIGTTOU },
	{ "splice_out_empty", do_splice_out_empty, SIGTTOU },
	{ "sendfile_out", do_sendfile_out, SIGTTOU },
	{ "sendfile_out_end", do_sendfile_out_end, SIGTTOU },
	{ "tcsetattr", do_tcsetattr, SIGTTOU },
	{ "tcsetpgrp", do_tcsetpgrp, SIGTTOU },
	{ "tcdrain", do_tcdrain, SIGTTOU },
	{ "master_setattr", do_master_setattr, SIGTTOU },
	{ "master_setpgrp", do_master_setpgrp, SIGTTOU },
	{ "master_flush", do_master_flush, SIGTTOU },
};
static const struct act *what;

static void find(const char *name)
{
	for (size_t i = 0; i < T_LEN(acts); i++)
		if (!strcmp(acts[i].name, name))
			what = &acts[i];
	CHECK(what);
}

static void *act(void *arg)
{
	sigset_t set;
	long r;

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	errno = 0;
	r = what->fn();
	if (!strcmp(how, "handled") || !strcmp(how, "continued"))
		CHECK(ran >= 1);
	_exit(r < 0 ? errno == EIO ? 10 : errno == EINTR ? 11 : 12 : (int)r);
	return arg;
}

/* --- the processes ---------------------------------------------------------------- */

/* In a group of its own; its parent is of the session, or has ended. */
static void background(void)
{
	struct sigaction sa = { .sa_sigaction = on_sig,
				.sa_flags = SA_SIGINFO };
	int sig = what->sig;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (!strcmp(how, "ignored"))
		t_handle(sig, SIG_IGN, 0);
	if (!strcmp(how, "blocked"))
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	if (!strcmp(how, "handled"))
		CHECK(sigaction(sig, &sa, NULL) == 0);
	if (!strcmp(how, "continued")) {
		t_handle(SIGCONT, on_cont, 0);
		/* It is for the thread. */
		sigaddset(&set, SIGCONT);
		sigdelset(&set, sig);
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	}
	CHECK(t_get(up[0]) == 'g');
	t_join(t_thread(act, NULL));
}

static bool expect_stop(pid_t pid)
{
	int st;

	CHECK(waitpid(pid, &st, WUNTRACED) == pid);
	if (WIFEXITED(st)) {
		t_say("exit %d", WEXITSTATUS(st));
		return false;
	}
	CHECK(WIFSTOPPED(st));
	t_say("stopped by %s", WSTOPSIG(st) == SIGTTIN ? "SIGTTIN" : "SIGTTOU");
	CHECK(tcsetpgrp(tty, pid) == 0);
	CHECK(kill(pid, SIGCONT) == 0);
	return true;
}

/* The leader of the session, in the foreground. */
static void leader(void)
{
	struct termios t;
	pid_t pid;
	int st;

	CHECK(setsid() == getpid());
	tty = open(ptsname(master), O_RDWR);
	CHECK(tty >= 0);
	CHECK(tcgetattr(tty, &t) == 0);
	if (!strcmp(how, "tostop") || !strcmp(how, "continued") ||
	    (what->fn == do_write && !strcmp(how, "ignored")))
		t.c_lflag |= TOSTOP;
	CHECK(tcsetattr(tty, TCSANOW, &t) == 0);
	t_handle(SIGTTOU, SIG_IGN, 0);
	t_handle(SIGHUP, SIG_IGN, 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_handle(SIGTTOU, SIG_DFL, 0);
		background();
	}
	CHECK(setpgid(pid, !strcmp(how, "orphan") ? getpgrp() : pid) == 0);
	if (!strcmp(how, "orphan")) {
		/* Its group is the leader's, and the foreground another one. */
		pid_t other = fork();

		CHECK(other >= 0);
		if (other == 0) {
			for (;;)
				pause();
		}
		CHECK(setpgid(other, other) == 0);
		CHECK(tcsetpgrp(tty, other) == 0);
		t_put(up[1], 'g');
		st = t_wait(pid);
		t_say("exit %d", WEXITSTATUS(st));
		kill(other, SIGKILL);
		t_wait(other);
		_exit(0);
	}
	t_put(up[1], 'g');
	if (expect_stop(pid)) {
		t_write(master, "in\n", 3);
		st = t_wait(pid);
		CHECK(WIFEXITED(st));
		t_say("exit %d", WEXITSTATUS(st));
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t pid;

	CHECK(argc >= 2);
	find(argv[1]);
	how = argc > 2 ? argv[2] : "";
	t_pipe(up);
	t_pipe(ends);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(master >= 0);
	CHECK(grantpt(master) == 0);
	CHECK(unlockpt(master) == 0);
	if (!strcmp(how, "ready"))
		t_write(master, "in\n", 3);
	t_be_threaded();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		leader();
	t_wait_ok(pid);
	return 0;
}
