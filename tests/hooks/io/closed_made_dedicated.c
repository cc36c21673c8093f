/*
 * A call whose number is closed under it, and whose thread's policy another one changes
 * then: it waits on for its file. (It has a kernel thread of its own from then on.)
 * t-chaos-but idle_kick: what the number was when a wait began
 */
#include "../calls.h"
#include <sched.h>
#include <sys/epoll.h>

static long reads(void *arg)
{
	char b[4];

	return read(*(int *)arg, b, sizeof(b));
}

static long polls_events(void *arg)
{
	struct epoll_event e;

	return epoll_wait(*(int *)arg, &e, 1, -1);
}

static long polls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, -1);
}

static long selects(void *arg)
{
	int fd = *(int *)arg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, NULL);
}

/* @fd: by which it waits, for what comes to @from of a pipe. */
static void met(const char *name, long (*fn)(void *), int fd, int from, int to)
{
	struct sched_param none = { 0 };
	struct t_call c;

	t_begin(&c, fn, &fd);
	t_close(fd);
	t_waits(&c);
	CHECK_0(pthread_setschedparam(c.th, SCHED_BATCH, &none));
	t_waits(&c);
	t_put(to, 'x');
	t_ended(name, &c);
	t_close(from);
	t_close(to);
}

int main(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ends[2], ep;

	t_pipe(ends);
	met("read", reads, dup(ends[0]), ends[0], ends[1]);
	t_pipe(ends);
	ep = epoll_create1(0);
	CHECK_0(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e));
	met("epoll_wait", polls_events, ep, ends[0], ends[1]);
	t_pipe(ends);
	met("poll", polls, dup(ends[0]), ends[0], ends[1]);
	t_pipe(ends);
	met("select", selects, dup(ends[0]), ends[0], ends[1]);
	return 0;
}
