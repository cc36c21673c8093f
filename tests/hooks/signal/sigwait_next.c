/*
 * Threads wait for a signal that all block, and it is sent to the process. The first
 * one has it. The next one that wants it is woken for nothing: its call ends with
 * EINTR, if it is one that signals end whatever their action. The others wait on.
 * What is sent to one thread, and what pends before somebody waits, wakes nobody else.
 */
#include "../calls.h"
#include <stdbool.h>
#include <sys/epoll.h>

enum { N = 4 };

static sigset_t set;
static int ep, none[2];

static long infos(void *arg)
{
	(void)arg;
	return sigwaitinfo(&set, NULL);
}

static long timed(void *arg)
{
	struct timespec limit = { 30, 0 };

	(void)arg;
	return sigtimedwait(&set, NULL, &limit);
}

static long polls_events(void *arg)
{
	struct epoll_event ev;

	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	return epoll_wait(ep, &ev, 1, arg ? 1000 : -1);
}

static long reads(void *arg)
{
	char c;

	(void)arg;
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	return read(none[0], &c, 1);
}

static void ignores(int sig)
{
	(void)sig;
}

static void begin(struct t_call *c, long (*fn)(void *))
{
	t_begin(c, fn, NULL);
	t_waits(c);
}

static void end(struct t_call *c, const char *name, int sig)
{
	if (!atomic_load(&c->ended))
		CHECK_0(pthread_kill(c->th, sig));
	t_ended(name, c);
}

static void tell(const char *what, struct t_call *c, int n)
{
	t_pause();
	printf("%s:", what);
	for (int i = 0; i < n; i++)
		if (atomic_load(&c[i].ended))
			printf(" %ld", c[i].r);
		else
			printf(" waits");
	printf("\n");
	fflush(stdout);
}

static void by_child(int sig)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(kill(getppid(), sig) != 0);
	CHECK(t_wait(pid) == 0);
}

static void among_alike(long (*fn)(void *), int sig, bool from_child)
{
	struct t_call c[N];

	for (int i = 0; i < N; i++)
		begin(&c[i], fn);
	if (from_child)
		by_child(sig);
	else
		CHECK_0(kill(getpid(), sig));
	tell("sent", c, N);
	CHECK_0(kill(getpid(), sig));
	tell("again", c, N);
	for (int i = 0; i < N; i++)
		end(&c[i], "waiter", sig);
}

/* Who has it open is woken as well, and no handler runs. */
static void before(long (*fn)(void *), const char *name)
{
	struct t_call c[2];

	begin(&c[0], infos);
	begin(&c[1], fn);
	CHECK_0(kill(getpid(), SIGUSR1));
	tell(name, c, 2);
	if (!atomic_load(&c[1].ended))
		t_write(none[1], "x", 1);
	t_end(&c[0]);
	t_ended(name, &c[1]);
}

static void nobody_else(void)
{
	struct t_call c[2];

	begin(&c[0], infos);
	begin(&c[1], infos);
	CHECK_0(pthread_kill(c[0].th, SIGUSR1));
	tell("to one", c, 2);
	end(&c[1], "other", SIGUSR1);
	t_end(&c[0]);

	/* Nobody awaits this one when it comes. */
	CHECK_0(kill(getpid(), SIGUSR2));
	begin(&c[1], infos);
	CHECK_0(sigaddset(&set, SIGUSR2));
	t_begin(&c[0], infos, NULL);
	t_ended("pended", &c[0]);
	t_waits(&c[1]);
	end(&c[1], "other", SIGUSR1);
}

int main(void)
{
	sigset_t all;

	t_handle(SIGUSR1, ignores, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 3);
	all = set;
	sigaddset(&all, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	ep = epoll_create1(0);
	CHECK(ep >= 0);
	t_pipe(none);
	among_alike(infos, SIGUSR1, false);
	among_alike(infos, SIGRTMIN + 3, true);
	among_alike(timed, SIGUSR1, true);
	before(polls_events, "epoll_wait");
	before(reads, "read");
	nobody_else();
	return 0;
}
