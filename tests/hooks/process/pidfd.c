/*
 * A child by its descriptor: poll, epoll, waitid(P_PIDFD), in threads of their own;
 * one that does not wait; one whose number is closed or another's meanwhile, with
 * signals.
 */
#include "../calls.h"
#include <sys/epoll.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct child {
	pid_t pid;
	int fd, hold;
};

static struct child child(unsigned flags)
{
	struct child c;
	int p[2];

	CHECK(pipe2(p, O_CLOEXEC) == 0);
	c.pid = fork();
	CHECK(c.pid >= 0);
	if (c.pid == 0) {
		t_close(p[1]);
		t_eof(p[0]);
		_exit(7);
	}
	t_close(p[0]);
	c.hold = p[1];
	c.fd = (int)syscall(SYS_pidfd_open, c.pid, flags);
	if (c.fd < 0)
		t_skip("the kernel has no pidfd_open");
	return c;
}

static long watch(void *arg)
{
	struct pollfd p = { *(int *)arg, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

static long watch_epoll(void *arg)
{
	struct epoll_event e;

	return epoll_wait(*(int *)arg, &e, 1, 20000) == 1 ? (long)e.events : -1;
}

static long reap(void *arg)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t) * (int *)arg, &info, WEXITED))
		return -1;
	CHECK(info.si_code == CLD_EXITED);
	return info.si_status;
}

static long look(void *arg)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t) * (int *)arg, &info, WEXITED | WNOWAIT))
		return -1;
	return info.si_status;
}

static void waits(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct child c = child(0);
	struct t_call p, q, w, l;
	int ep = epoll_create1(0), fd = c.fd;
	char b;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, c.fd, &e) == 0);
	t_begin(&p, watch, &c.fd);
	t_begin(&q, watch_epoll, &ep);
	t_begin(&l, look, &c.fd);
	t_waits(&p);
	t_waits(&l);
	CHECK_ERR(read(c.fd, &b, 1), EINVAL);
	t_close(c.hold);
	t_ended("poll", &p);
	t_ended("epoll_wait", &q);
	t_ended("waitid, WNOWAIT", &l);
	T_RESULT("waitid", reap(&c.fd));
	T_RESULT("and again", reap(&c.fd));
	t_close(ep);
	t_close(c.fd);

	c = child(0);
	fd = c.fd;
	t_begin(&w, reap, &fd);
	t_waits(&w);
	t_close(c.fd);
	t_close(c.hold);
	t_ended("its number closed meanwhile", &w);
}

static void no_wait(void)
{
	struct child c = child(O_NONBLOCK);
	siginfo_t info = { 0 };

	T_RESULT("O_NONBLOCK", reap(&c.fd));
	CHECK(waitid(P_PIDFD, (id_t)c.fd, &info, WEXITED | WNOHANG) == 0);
	CHECK(info.si_pid == 0);
	CHECK(syscall(SYS_pidfd_send_signal, c.fd, SIGKILL, NULL, 0) == 0);
	T_RESULT("poll", watch(&c.fd));
	CHECK(waitid(P_PIDFD, (id_t)c.fd, &info, WEXITED) == 0);
	CHECK(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
	t_close(c.fd);
	t_close(c.hold);
	T_RESULT("a closed number", reap(&c.fd));
}

static void nothing(int sig)
{
	(void)sig;
}

/* Its number is closed, or another child's by then: the wait is for the first one. */
static void signalled(int other, int flags)
{
	struct child c = child(0), d = child(0);
	int fd = c.fd;
	struct t_call w;

	t_handle(SIGUSR1, nothing, flags);
	t_begin(&w, reap, &fd);
	t_waits(&w);
	if (other)
		CHECK(dup2(d.fd, c.fd) == c.fd);
	else
		t_close(c.fd);
	CHECK(pthread_kill(w.th, SIGUSR1) == 0);
	if (!(flags & SA_RESTART))
		t_ended("interrupted", &w);
	t_close(other ? d.hold : c.hold);
	if (flags & SA_RESTART)
		t_ended("made again", &w);
	t_close(other ? c.hold : d.hold);
	while (waitpid(-1, NULL, 0) > 0)
		;
	CHECK(errno == ECHILD);
	t_close(d.fd);
	if (other)
		t_close(c.fd);
}

int main(void)
{
	t_be_threaded();
	waits();
	no_wait();
	for (int i = 0; i < 4; i++)
		signalled(i & 1, i & 2 ? SA_RESTART : 0);
	return 0;
}
