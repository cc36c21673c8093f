/*
 * A file whose poll tells of a change once, to whoever asks first: /proc/PID/mounts,
 * of a child with mounts of its own.
 *
 * t-case: poll
 * t-case: poll-limit
 * t-case: select
 * t-case: epoll
 * t-case: epoll-late
 * t-case: epoll-poll
 * t-case: epoll-late-poll
 * t-case: epoll-epoll
 */
#include <sched.h>
#include <sys/epoll.h>
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

static int outer, inner;

static void add(int ep, int what, unsigned events)
{
	struct epoll_event e = { .events = events, .data.fd = what };

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, what, &e) == 0);
}

static const char *name(int n)
{
	return n == fd ? "mounts" : n == other ? "pipe" : "inner";
}

static long loops(void *arg)
{
	struct epoll_event e[4];
	long r = epoll_wait(outer, e, 4, -1);

	(void)arg;
	for (long i = 0; i < r; i++)
		t_say("%s %#x", name(e[i].data.fd), e[i].events);
	return r;
}

/* What is in it is for the kernel to say, and who has asked first. */
static long polls_epoll(void *arg)
{
	struct pollfd p = { inner, POLLIN, 0 };
	struct epoll_event e[4];
	long r = poll(&p, 1, -1), n = epoll_wait(inner, e, 4, 0);

	(void)arg;
	t_say("inner %#x, in it %ld", p.revents, n);
	return r;
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
	static const struct {
		const char *name;
		long (*fn)(void *);
		int limit, deep, late; /* in epoll, and how deep; added late */
	} cases[] = { { "poll", polls, -1, 0, 0 },
		      { "poll-limit", polls, 600000, 0, 0 },
		      { "select", selects, 0, 0, 0 },
		      { "epoll", loops, 0, 1, 0 },
		      { "epoll-late", loops, 0, 1, 1 },
		      { "epoll-poll", polls_epoll, 0, 2, 0 },
		      { "epoll-late-poll", polls_epoll, 0, 2, 1 },
		      { "epoll-epoll", loops, 0, 2, 0 } },
	  *it = cases;
	int ask[2], told[2], pipes[2], limit, i;
	char path[64], c;
	struct t_call call;
	pid_t pid;

	CHECK(argc == 2);
	while (strcmp(it->name, argv[1]))
		it++;
	limit = it->limit;
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
	outer = inner = epoll_create1(0);
	CHECK(outer >= 0);
	add(inner, other, EPOLLIN);
	if (it->deep > 1) {
		outer = epoll_create1(0);
		CHECK(outer >= 0);
		add(outer, inner, EPOLLIN);
	}
	if (it->deep && !it->late)
		add(inner, fd, EPOLLPRI);
	for (i = 0; i < 2; i++) {
		t_begin(&call, it->fn, it->fn == selects ? NULL : &limit);
		t_waits(&call);
		if (it->late && i == 0)
			add(inner, fd, EPOLLPRI);
		t_put(ask[1], 'm');
		t_ended("a mount", &call);
		CHECK(read(told[0], &c, 1) == 1);
	}
	t_begin(&call, it->fn, it->fn == selects ? NULL : &limit);
	t_waits(&call);
	t_put(pipes[1], 'x');
	t_ended("the pipe", &call);
	t_close(ask[1]);
	CHECK(waitpid(pid, NULL, 0) == pid);
	return 0;
}
