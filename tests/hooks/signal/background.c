/*
 * A process in the background that reads from its terminal, writes to it with
 * TOSTOP set, or changes it, is stopped, and goes on when it is continued in the
 * foreground. What ignores or blocks the signal has EIO from a read, and may
 * write.
 *
 * t-case: read
 * t-case: read ready
 * t-case: read ignored
 * t-case: read blocked
 * t-case: read handled
 * t-case: read orphan
 * t-case: write plain
 * t-case: write tostop
 * t-case: write ignored
 * t-case: tcsetattr stops
 * t-case: tcsetattr ignored
 * t-case: tcsetpgrp stops
 * t-case: tcdrain stops
 */
#include <stdbool.h>
#include <termios.h>
#include "t.h"

static const char *what, *how;
static int master, tty, up[2];
static volatile sig_atomic_t ran;

static void on_sig(int sig)
{
	(void)sig;
	ran++;
}

static void *act(void *arg)
{
	struct termios t;
	char b[16];
	long r;

	errno = 0;
	if (!strcmp(what, "read")) {
		r = read(tty, b, sizeof(b));
	} else if (!strcmp(what, "write")) {
		r = write(tty, "out\n", 4);
	} else if (!strcmp(what, "tcsetattr")) {
		CHECK(tcgetattr(tty, &t) == 0);
		r = tcsetattr(tty, TCSANOW, &t);
	} else if (!strcmp(what, "tcsetpgrp")) {
		r = tcsetpgrp(tty, getpgrp());
	} else {
		r = tcdrain(tty);
	}
	if (!strcmp(how, "handled"))
		CHECK(ran >= 1);
	_exit(r < 0 ? errno == EIO ? 10 : errno == EINTR ? 11 : 12 : (int)r);
	return arg;
}

/* In a group of its own; its parent is of the session, or has ended. */
static void background(void)
{
	int sig = !strcmp(what, "read") ? SIGTTIN : SIGTTOU;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (!strcmp(how, "ignored"))
		t_handle(sig, SIG_IGN, 0);
	if (!strcmp(how, "blocked"))
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	if (!strcmp(how, "handled"))
		t_handle(sig, on_sig, 0);
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
	t_say("stopped by %s",
	      WSTOPSIG(st) == SIGTTIN ? "SIGTTIN" : "SIGTTOU");
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
	if (!strcmp(how, "tostop") ||
	    (!strcmp(what, "write") && !strcmp(how, "ignored")))
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
	what = argv[1];
	how = argc > 2 ? argv[2] : "";
	t_pipe(up);
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
