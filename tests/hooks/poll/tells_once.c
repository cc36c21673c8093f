/*
 * A file whose poll tells of a change once, to whoever asks first: /proc/PID/mounts,
 * of a child with mounts of its own.
 *
 * t-case: poll
 * t-case: poll-limit
 * t-case: select
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/select.h>
#include "../calls.h"

static int fd, other;

static long polls(void *arg)
{
	struct pollfd p[] = { { fd, POLLPRI, 0 }, { other, POLLIN, 0 } };
	long r = poll(p, 2, *(int *)arg);

	t_say("mounts %#x, pipe %#x", p[0].revents, p[1].revents);
	return r;
}

static long selects(void *arg)
{
	fd_set r, e;
	long n;

	FD_ZERO(&r);
	FD_ZERO(&e);
	FD_SET(other, &r);
	FD_SET(fd, &e);
	n = select((fd > other ? fd : other) + 1, &r, NULL, &e, arg);
	t_say("mounts %d, pipe %d", !!FD_ISSET(fd, &e), !!FD_ISSET(other, &r));
	return n;
}

/* Mounts and unmounts at each byte, which it answers. */
static void child(int from, int to)
{
	int mounted = 0;
	char c;

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		_exit(77);
	CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	t_put(to, 'b');
	while (read(from, &c, 1) == 1) {
		if (mounted)
			CHECK(umount("/proc") == 0);
		else
			CHECK(mount("/", "/proc", NULL, MS_BIND, NULL) == 0);
		mounted = !mounted;
		t_put(to, 'm');
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int ask[2], told[2], pipes[2], forever = -1, limit = 600000, i;
	long (*fn)(void *) = !strcmp(argv[1], "select") ? selects : polls;
	void *arg = fn == selects	     ? NULL :
		    !strcmp(argv[1], "poll") ? &forever :
					       &limit;
	char path[64], c;
	struct t_call call;
	pid_t pid;

	CHECK(argc == 2);
	CHECK(pipe(ask) == 0 && pipe(told) == 0 && pipe(pipes) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		t_close(ask[1]);
		child(ask[0], told[1]);
	}
	t_be_threaded();
	other = pipes[0];
	t_close(told[1]);
	if (read(told[0], &c, 1) != 1)
		t_skip("no mounts of its own for a child");
	snprintf(path, sizeof(path), "/proc/%d/mounts", (int)pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	for (i = 0; i < 2; i++) {
		t_begin(&call, fn, arg);
		t_waits(&call);
		t_put(ask[1], 'm');
		t_ended("a mount", &call);
		CHECK(read(told[0], &c, 1) == 1);
	}
	t_begin(&call, fn, arg);
	t_waits(&call);
	t_put(pipes[1], 'x');
	t_ended("the pipe", &call);
	t_close(ask[1]);
	CHECK(waitpid(pid, NULL, 0) == pid);
	return 0;
}
