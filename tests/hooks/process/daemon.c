/* daemon() from a threaded program, and a double fork by hand. */
#include "t.h"

static void *work(void *arg)
{
	t_settle();
	return (char *)arg + 1;
}

static void in_daemon(int fd, int stage)
{
	CHECK(t_join(t_thread(work, NULL)) == (void *)1);
	CHECK(getppid() != stage);
	t_put(fd, 'd');
	_exit(0);
}

int main(void)
{
	int p[2];
	pid_t pid;

	t_be_threaded();
	t_pipe(p);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(p[0]);
		if (daemon(1, 1) != 0)
			_exit(1);
		in_daemon(p[1], (int)getpid());
	}
	t_wait_ok(pid);
	CHECK(t_get(p[0]) == 'd');
	t_say("daemon()");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		pid_t first = getpid();

		CHECK(setsid() == first);
		pid = fork();
		CHECK(pid >= 0);
		if (pid != 0)
			_exit(0);
		in_daemon(p[1], (int)getpid());
	}
	t_wait_ok(pid);
	CHECK(t_get(p[0]) == 'd');
	t_close(p[1]);
	/* Both daemons are gone: nobody holds the pipe. */
	t_eof(p[0]);
	t_say("double fork");
	return 0;
}
