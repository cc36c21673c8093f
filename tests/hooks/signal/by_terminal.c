/*
 * What a process does to its own terminal, and what that tells its foreground
 * group of: the signal has been delivered when the call returns.
 */
#include <sys/ioctl.h>
#include "t.h"

#ifndef TIOCSIG
#define TIOCSIG _IOW('T', 0x36, int)
#endif

static volatile sig_atomic_t got;

static void on_signal(int sig)
{
	got |= 1 << sig;
}

/* The signals that have been handled when it returns. */
static int after(int fd, unsigned long cmd, void *arg)
{
	got = 0;
	CHECK(ioctl(fd, cmd, arg) == 0);
	return got;
}

static void session(void)
{
	static const int sigs[] = { SIGWINCH, SIGINT, SIGQUIT, SIGHUP,
				    SIGCONT };
	int master = posix_openpt(O_RDWR | O_NOCTTY), tty;
	struct winsize size = { .ws_row = 1, .ws_col = 80 };

	CHECK(setsid() > 0);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		t_handle(sigs[i], on_signal, 0);
	t_be_threaded();
	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	tty = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(tty >= 0 && ioctl(tty, TIOCSCTTY, 0) == 0);
	for (int i = 0; i < 100; i++) {
		size.ws_row++;
		CHECK(after(i & 1 ? master : tty, TIOCSWINSZ, &size) ==
		      1 << SIGWINCH);
		CHECK(after(master, TIOCSWINSZ, &size) == 0);
		CHECK(after(master, TIOCSIG, (void *)SIGINT) == 1 << SIGINT);
		CHECK(after(master, TIOCSIG, (void *)SIGQUIT) == 1 << SIGQUIT);
	}
	for (int i = 0; i < 20; i++) {
		CHECK(after(tty, TIOCNOTTY, NULL) ==
		      (1 << SIGHUP | 1 << SIGCONT));
		CHECK(after(tty, TIOCSCTTY, NULL) == 0);
	}
	t_say("sizes, signals, and the terminal is given up");
	CHECK(signal(SIGINT, SIG_DFL) == on_signal);
	after(master, TIOCSIG, (void *)SIGINT);
	t_say("SIGINT has not ended it");
	_exit(1);
}

int main(void)
{
	pid_t pid = fork();
	int st;

	CHECK(pid >= 0);
	if (pid == 0)
		session();
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGINT);
	return 0;
}
