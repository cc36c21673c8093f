/*
 * signalfd shows signals that are directed at the reading thread, to read, poll
 * and epoll: one made before there are threads, and one made by a thread. So it
 * does what was pending before it was made, or before there were threads. Once it
 * is closed, such a signal is that thread's alone again.
 */
#include "t.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static int early;

static int make(int sig)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static void expect(int fd, int sig, const char *how)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct signalfd_siginfo si;
	sigset_t pending;

	CHECK(ep >= 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, sig));
	CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
	CHECK((int)si.ssi_signo == sig);
	CHECK((pid_t)si.ssi_pid == getpid());
	CHECK(read(fd, &si, sizeof(si)) == -1 && errno == EAGAIN);
	CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
	close(ep);
	t_say("%s", how);
}

static void *reader(void *arg)
{
	int late = make(SIGUSR2), rt = make(SIGRTMIN + 1);
	union sigval v = { .sival_int = 17 };
	struct signalfd_siginfo si;

	CHECK(raise(SIGUSR1) == 0);
	expect(early, SIGUSR1, "raise");
	CHECK_0(pthread_kill(pthread_self(), SIGUSR2));
	expect(late, SIGUSR2, "pthread_kill");
	CHECK(kill(getpid(), SIGUSR1) == 0);
	expect(early, SIGUSR1, "kill");
	CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, v));
	v.sival_int++;
	CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, v));
	for (int i = 17; i < 19; i++) {
		CHECK(read(rt, &si, sizeof(si)) == sizeof(si));
		CHECK((int)si.ssi_signo == SIGRTMIN + 1 &&
		      si.ssi_code == SI_QUEUE && si.ssi_int == i);
	}
	t_say("pthread_sigqueue");
	return arg;
}

/* Sent first, then shown. */
static void *makes_later(void *arg)
{
	union sigval v = { .sival_int = 1 };
	struct signalfd_siginfo si;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	sigaddset(&set, SIGHUP);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(raise(SIGHUP) == 0);
	for (; v.sival_int < 4; v.sival_int++)
		CHECK_0(pthread_sigqueue(pthread_self(), SIGRTMIN + 2, v));
	fd = make(SIGHUP);
	expect(fd, SIGHUP, "raise, then signalfd");
	close(fd);
	fd = make(SIGRTMIN + 2);
	for (int i = 1; i < 4; i++) {
		CHECK(read(fd, &si, sizeof(si)) == sizeof(si));
		CHECK((int)si.ssi_signo == SIGRTMIN + 2 && si.ssi_int == i);
	}
	close(fd);
	t_say("pthread_sigqueue, then signalfd");
	return arg;
}

static void *blocks(void *fd)
{
	struct signalfd_siginfo si;

	CHECK(fcntl(early, F_SETFL, 0) == 0);
	t_put(*(int *)fd, 'x');
	CHECK(read(early, &si, sizeof(si)) == sizeof(si));
	CHECK(si.ssi_signo == SIGUSR1);
	t_say("blocking read");
	return NULL;
}

static void expect_pending(int sig, int is)
{
	sigset_t pending;

	CHECK(sigpending(&pending) == 0 && sigismember(&pending, sig) == is);
}

static void *after_close(void *arg)
{
	close(early);
	CHECK(raise(SIGUSR1) == 0);
	expect_pending(SIGUSR1, 1);
	return arg;
}

int main(void)
{
	sigset_t all;
	int p[2];
	char c;
	pthread_t t;

	early = make(SIGUSR1);
	sigemptyset(&all);
	sigaddset(&all, SIGUSR2);
	sigaddset(&all, SIGRTMIN + 1);
	sigaddset(&all, SIGRTMIN + 2);
	sigaddset(&all, SIGHUP);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	CHECK(raise(SIGUSR1) == 0);
	t_join(t_thread(makes_later, NULL));
	expect(early, SIGUSR1, "raise, then threads");
	t_join(t_thread(reader, NULL));
	CHECK(pipe(p) == 0);
	t = t_thread(blocks, &p[1]);
	CHECK(read(p[0], &c, 1) == 1);
	CHECK_0(pthread_kill(t, SIGUSR1));
	t_join(t);

	/* What a thread that has ended left behind is nobody's. */
	t_join(t_thread(after_close, NULL));
	expect_pending(SIGUSR1, 0);
	t_say("closed");
	return 0;
}
