/*
 * Main alone changes an attribute of its thread, when others have ended: what it
 * had until then, it has after: pending and blocked signals, a handler's stack,
 * a timer, descriptors, robust mutexes, its id. And again, with threads between.
 */
#include <sys/epoll.h>
#include <sys/prctl.h>
#include "t.h"

static volatile sig_atomic_t seen[65], on_stack;
static char stack[64 * 1024];

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	char here;

	(void)uc;
	seen[sig]++;
	if (sig == SIGRTMIN)
		CHECK(info->si_value.sival_int == 7);
	on_stack = &here > stack && &here < stack + sizeof(stack);
}

static void *thread(void *arg)
{
	t_put(*(int *)arg, 'x');
	return arg;
}

static void turn(int i, int ep, int p[2], pthread_mutex_t *robust)
{
	struct itimerval soon = { .it_value.tv_usec = 1000 }, none = { 0 };
	sigset_t set, old, pending;
	struct epoll_event ev;
	pid_t tid = gettid();

	/* Some that wait, for the process and for the thread. */
	sigfillset(&set);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &set, &old));
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK_0(pthread_kill(pthread_self(), SIGUSR2));
	CHECK(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 7 }) ==
	      0);
	CHECK_0(pthread_mutex_lock(robust));
	CHECK(prctl(PR_SET_TIMERSLACK, 50000 + i) == 0);
	CHECK(prctl(PR_GET_TIMERSLACK) == 50000 + i);
	CHECK_0(pthread_mutex_unlock(robust));
	CHECK(sigpending(&pending) == 0);
	CHECK(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGUSR2));
	CHECK(sigismember(&pending, SIGRTMIN));
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(seen[SIGUSR1] == i + 1 && seen[SIGUSR2] == i + 1 &&
	      seen[SIGRTMIN] == i + 1 && on_stack);
	CHECK(gettid() == tid && tid == getpid());
	/* A handler ends a wait. */
	seen[SIGALRM] = 0;
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK_ERR(epoll_wait(ep, &ev, 1, -1), EINTR);
	CHECK(seen[SIGALRM] == 1);
	CHECK(setitimer(ITIMER_REAL, &none, NULL) == 0);
	t_join(t_thread(thread, &p[1]));
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1 && ev.data.fd == p[0]);
	CHECK(t_get(p[0]) == 'x');
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct epoll_event ev = { .events = EPOLLIN };
	pthread_mutexattr_t ma;
	pthread_mutex_t robust;
	int ep, p[2];

	t_be_threaded();
	t_pipe(p);
	CHECK((ep = epoll_create1(0)) >= 0);
	ev.data.fd = p[0];
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0);
	CHECK(sigaltstack(&ss, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0);
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	CHECK_0(pthread_mutexattr_init(&ma));
	CHECK_0(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
	CHECK_0(pthread_mutex_init(&robust, &ma));
	for (int i = 0; i < 5; i++)
		turn(i, ep, p, &robust);
	t_say("%d USR1, %d USR2, %d RT", (int)seen[SIGUSR1], (int)seen[SIGUSR2],
	      (int)seen[SIGRTMIN]);
	return 0;
}
