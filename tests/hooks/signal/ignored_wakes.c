/*
 * A signal that is ignored is sent to the process, and main blocks it: so it is not dropped
 * as it comes, but given to a thread that does not, and dropped there. That ends what a stop
 * would end: sigwaitinfo() and epoll_wait(). Other calls go on.
 *
 * t-case: ignored
 * t-case: default
 */
#include "../calls.h"
#include <sys/epoll.h>

static sigset_t other;
static int ep;

static long sigwaits(void *arg)
{
	(void)arg;
	return sigwaitinfo(&other, NULL);
}

static long epolls(void *arg)
{
	struct epoll_event ev;

	(void)arg;
	return epoll_wait(ep, &ev, 1, -1);
}

static long reads(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1);
}

static long polls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, -1);
}

/* One may come before it waits. */
static void ended_by(int sig, const char *what, struct t_call *c)
{
	while (!atomic_load(&c->ended)) {
		CHECK(kill(getpid(), sig) == 0);
		t_settle();
	}
	t_ended(what, c);
}

static void begin_open(struct t_call *c, long (*fn)(void *), void *arg,
		       const sigset_t *set)
{
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, set, NULL));
	t_begin(c, fn, arg);
	CHECK_0(pthread_sigmask(SIG_BLOCK, set, NULL));
}

int main(int argc, char **argv)
{
	int sig = argc > 1 && !strcmp(argv[1], "default") ? SIGWINCH : SIGUSR1;
	struct t_call c;
	sigset_t set;
	int p[2];

	t_pipe(p);
	ep = epoll_create1(EPOLL_CLOEXEC);
	CHECK(ep >= 0);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigemptyset(&other);
	sigaddset(&other, SIGUSR2);
	if (sig != SIGWINCH)
		t_handle(sig, SIG_IGN, 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &other, NULL));
	begin_open(&c, sigwaits, NULL, &set);
	ended_by(sig, "sigwaitinfo", &c);
	begin_open(&c, epolls, NULL, &set);
	ended_by(sig, "epoll_wait", &c);
	begin_open(&c, reads, &p[0], &set);
	CHECK(kill(getpid(), sig) == 0);
	t_waits(&c);
	t_put(p[1], 'x');
	t_ended("read", &c);
	begin_open(&c, polls, &p[0], &set);
	CHECK(kill(getpid(), sig) == 0);
	t_waits(&c);
	t_put(p[1], 'x');
	t_ended("poll", &c);
	return 0;
}
