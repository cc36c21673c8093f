/*
 * A thread, not the first one, reads from the terminal of a process in the background,
 * which handles SIGTTIN without SA_RESTART: the read ends when that thread is the one that
 * has the signal. Each time that another one has it the read begins anew, and sends one
 * more. Natively that is who comes first: the reader, which is running, or main, where the
 * kernel wakes it on another processor. So there is no bound natively; hooked the one
 * that has caused the signal has it, mostly the first.
 */
#include "t.h"
#include <sys/ioctl.h>

enum { TIMES = 10, MOST = 2 };

static _Atomic int handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void *reads(void *arg)
{
	char b;

	CHECK_ERR(read(0, &b, 1), EINTR);
	return arg;
}

static void job(void)
{
	t_handle(SIGTTIN, on_signal, 0);
	t_join(t_thread(reads, NULL));
	_exit(handled < 100 ? handled : 100);
}

/* The leader of the terminal's session, which is in the foreground. */
static void lead(int side)
{
	int sum = 0;

	CHECK(setsid() > 0);
	CHECK_0(ioctl(side, TIOCSCTTY, 0));
	CHECK(dup2(side, 0) == 0);
	for (int i = 0; i < TIMES; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			CHECK_0(setpgid(0, 0));
			job();
		}
		sum += WEXITSTATUS(t_wait(pid));
	}
	CHECK(sum >= TIMES);
	CHECK(sum <= TIMES * MOST || !getenv("T_HOOKED"));
	_exit(0);
}

int main(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), side;
	pid_t pid;

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	side = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(side >= 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		lead(side);
	CHECK(t_wait(pid) == 0);
	return 0;
}
