/*
 * SIGCHLD that is ignored, by default: it goes by the mask of the thread that has made the
 * child, not by main's. Where that one blocks it, it is given to a thread that does not,
 * and ends what a stop would end; where it does not, it is dropped, and ends nothing.
 */
#include "../calls.h"
#include <sys/epoll.h>
#include <sys/wait.h>

static sigset_t child, other;
static atomic_int ended;
static int ep, wake[2];

static void end_one(void)
{
	pid_t pid = fork();
	siginfo_t info;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	t_pause();
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* One may come before main waits. */
static void *blocks(void *arg)
{
	CHECK_0(pthread_sigmask(SIG_BLOCK, &child, NULL));
	while (!atomic_load(&ended))
		end_one();
	return arg;
}

struct own {
	pid_t pid;
	int hold[2];
};

static void make_one(struct own *o)
{
	t_pipe(o->hold);
	o->pid = fork();
	CHECK(o->pid >= 0);
	if (o->pid == 0)
		_exit(t_get(o->hold[0]));
}

static long sigwaits(void *arg)
{
	make_one(arg);
	return sigwaitinfo(&other, NULL);
}

static long epolls(void *arg)
{
	struct epoll_event ev;

	make_one(arg);
	return epoll_wait(ep, &ev, 1, -1);
}

static void open_to(const char *what, long (*fn)(void *))
{
	struct t_call c;
	struct own o;

	t_begin(&c, fn, &o);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &child, NULL));
	for (int i = 0; i < 5; i++)
		t_settle();
	t_put(o.hold[1], 'x');
	CHECK(waitpid(o.pid, NULL, 0) == o.pid);
	t_waits(&c);
	if (fn == sigwaits)
		CHECK(pthread_kill(c.th, SIGUSR2) == 0);
	else
		t_put(wake[1], 'x');
	t_ended(what, &c);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &child, NULL));
}

int main(void)
{
	struct epoll_event in = { .events = EPOLLIN };
	struct timespec limit = { 10, 0 };
	pthread_t th;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigemptyset(&other);
	sigaddset(&other, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &other, NULL));
	ep = epoll_create1(EPOLL_CLOEXEC);
	CHECK(ep >= 0);
	t_pipe(wake);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, wake[0], &in) == 0);
	th = t_thread(blocks, NULL);
	CHECK_ERR(sigtimedwait(&other, NULL, &limit), EINTR);
	atomic_store(&ended, 1);
	t_join(th);
	t_say("blocked by its maker: EINTR");
	open_to("sigwaitinfo", sigwaits);
	open_to("epoll_wait", epolls);
	return 0;
}
