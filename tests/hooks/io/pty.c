/*
 * A pseudo terminal: line mode, raw mode, hang-up seen by a blocked reader; and the
 * side of its master, whose reader is in nobody's background.
 */
#include "t.h"
#include <pty.h>
#include <termios.h>

static void *reader(void *arg)
{
	char buf[64];
	ssize_t n = read(*(int *)arg, buf, sizeof(buf));

	return (void *)(intptr_t)(n < 0 ? -errno : n);
}

static void *until_end(void *arg)
{
	char c;

	do
		CHECK(read(*(int *)arg, &c, 1) == 1);
	while (c != '.');
	return NULL;
}

static void read_master(int m)
{
	pthread_t th = t_thread(until_end, &m);
	struct termios tio;

	t_join(th);
	t_say("master");
	CHECK(tcgetattr(m, &tio) == 0);
	CHECK(tcsetattr(m, TCSANOW, &tio) == 0);
}

/* The other side has a session of its own, with a group in the foreground. */
static void other_session(void)
{
	int m, status;
	pid_t pid = forkpty(&m, NULL, NULL, NULL);

	CHECK(pid >= 0);
	if (pid == 0) {
		char c;

		/* Not before the threads are there. */
		if (read(0, &c, 1) != 1 || write(1, "abc.", 4) != 4)
			_exit(1);
		pause();
	}
	t_be_threaded();
	CHECK(write(m, "\n", 1) == 1);
	read_master(m);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	t_close(m);
}

static ssize_t hang_up(void)
{
	pthread_t th;
	ssize_t n;
	int m, s;

	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	th = t_thread(reader, &s);
	t_settle();
	t_close(m);
	n = (ssize_t)(intptr_t)t_join(th);
	t_close(s);
	return n;
}

int main(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY), s;
	struct termios tio;
	pthread_t th;
	ssize_t n = 0;

	if (m < 0)
		t_skip("no pseudo terminals here");
	CHECK(grantpt(m) == 0);
	CHECK(unlockpt(m) == 0);
	s = open(ptsname(m), O_RDWR | O_NOCTTY);
	CHECK(s >= 0);
	th = t_thread(reader, &s);
	t_settle();
	t_write(m, "abc", 3);
	t_settle();
	t_write(m, "de\n", 3);
	t_say("line mode: %d", (int)(intptr_t)t_join(th));

	CHECK(tcgetattr(s, &tio) == 0);
	cfmakeraw(&tio);
	CHECK(tcsetattr(s, TCSANOW, &tio) == 0);
	th = t_thread(reader, &s);
	t_settle();
	t_write(m, "x", 1);
	t_say("raw mode: %d", (int)(intptr_t)t_join(th));

	t_write(s, "xyz.", 4);
	read_master(m);

	/*
	 * EIO is for who waited. Who came after it reads 0 (hung_up_tty_read()), and
	 * is not what is to be seen here: the next one.
	 */
	for (int turn = 0; n == 0 && turn < 20; turn++)
		n = hang_up();
	t_say("hang-up: %d", (int)n);
	other_session();
	return 0;
}
