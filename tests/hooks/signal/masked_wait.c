/*
 * Calls with a signal mask of their own, while a signal is pending that it lets
 * in. What is ready goes first: no handler runs, and the signal stays pending.
 * With nothing ready the handler runs, but in an epoll_wait that does not wait.
 *
 * t-case: thread
 * t-case: process
 * t-case: main
 */
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "t.h"

static int ready[2], empty[2], ep_ready, ep_empty;
static volatile sig_atomic_t ran;
static bool to_process;
static const struct timespec none = { 0, 0 }, some = { 20, 0 };

static void on_sig(int sig)
{
	(void)sig;
	ran++;
}

static bool is_pending(void)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, SIGUSR1);
}

/* One is pending from here on; of those before, none. */
static void prepare(void)
{
	struct timespec now = none;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	CHECK(!is_pending());
	ran = 0;
	if (to_process)
		CHECK(kill(getpid(), SIGUSR1) == 0);
	else
		CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
	CHECK(is_pending());
}

static void kept(const char *what)
{
	sigset_t now;

	CHECK(ran == 0);
	CHECK(is_pending());
	CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1));
	t_say("%s: ready", what);
}

static void handled(const char *what)
{
	sigset_t now;

	CHECK(ran == 1);
	CHECK(!is_pending());
	CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1));
	t_say("%s: interrupted", what);
}

static void do_polls(const sigset_t *open)
{
	struct pollfd p = { ready[0], POLLIN, 0 }, q = { empty[0], POLLIN, 0 };

	prepare();
	CHECK(ppoll(&p, 1, &some, open) == 1);
	kept("ppoll");
	prepare();
	CHECK(ppoll(&p, 1, &none, open) == 1);
	kept("ppoll, no wait");
	prepare();
	CHECK_ERR(ppoll(&q, 1, &some, open), EINTR);
	handled("ppoll");
	prepare();
	CHECK_ERR(ppoll(&q, 1, &none, open), EINTR);
	handled("ppoll, no wait");
	CHECK(ppoll(&q, 1, &none, open) == 0);
}

static void do_selects(const sigset_t *open)
{
	fd_set set;

	for (int i = 0; i < 2; i++) {
		prepare();
		FD_ZERO(&set);
		FD_SET(ready[0], &set);
		CHECK(pselect(ready[0] + 1, &set, NULL, NULL, i ? &none : &some,
			      open) == 1);
		CHECK(FD_ISSET(ready[0], &set));
		kept("pselect");
		prepare();
		FD_ZERO(&set);
		FD_SET(empty[0], &set);
		CHECK_ERR(pselect(empty[0] + 1, &set, NULL, NULL,
				  i ? &none : &some, open),
			  EINTR);
		handled("pselect");
	}
	CHECK(pselect(empty[0] + 1, &set, NULL, NULL, &none, open) == 0);
	CHECK(!FD_ISSET(empty[0], &set));
}

static void do_epolls(const sigset_t *open)
{
	struct epoll_event ev;

	prepare();
	CHECK(epoll_pwait(ep_ready, &ev, 1, 20000, open) == 1);
	kept("epoll_pwait");
	prepare();
	CHECK(epoll_pwait(ep_ready, &ev, 1, 0, open) == 1);
	kept("epoll_pwait, no wait");
	prepare();
	CHECK_ERR(epoll_pwait(ep_empty, &ev, 1, 20000, open), EINTR);
	handled("epoll_pwait");
	prepare();
	CHECK(epoll_pwait(ep_empty, &ev, 1, 0, open) == 0);
	kept("epoll_pwait, no wait, nothing");
	CHECK(syscall(SYS_epoll_pwait2, ep_ready, &ev, 1, &some, open, 8) == 1);
	kept("epoll_pwait2");
	CHECK_ERR(syscall(SYS_epoll_pwait2, ep_empty, &ev, 1, &some, open, 8),
		  EINTR);
	handled("epoll_pwait2");
}

static void *check(void *arg)
{
	sigset_t open;

	sigemptyset(&open);
	for (int i = 0; i < 5; i++) {
		do_polls(&open);
		do_selects(&open);
		do_epolls(&open);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct sigaction sa;
	sigset_t set;

	CHECK(argc == 2);
	to_process = !strcmp(argv[1], "process");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_sig;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	t_pipe(ready);
	t_pipe(empty);
	t_put(ready[1], 'x');
	ep_ready = epoll_create1(0);
	ep_empty = epoll_create1(0);
	CHECK(epoll_ctl(ep_ready, EPOLL_CTL_ADD, ready[0], &ev) == 0);
	CHECK(epoll_ctl(ep_empty, EPOLL_CTL_ADD, empty[0], &ev) == 0);
	t_be_threaded();
	if (!strcmp(argv[1], "main"))
		check(NULL);
	else
		t_join(t_thread(check, NULL));
	return 0;
}
