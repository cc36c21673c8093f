/*
 * A signal whose default action has no effect, since the process group is orphaned: the
 * process does not stop. But the thread that it was for is woken, and its call ends with
 * EINTR, if it is one that signals end whatever their action; any other goes on, and a
 * sleep tells what is left.
 */
#include "../calls.h"
#include <sys/epoll.h>

static int ep, none[2];
static struct timespec left;

static long polls_events(void *arg)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, arg ? 0 : 20000);
}

static long waits_for_signal(void *arg)
{
	struct timespec limit = { 20, 0 };
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &limit);
}

static long reads(void *arg)
{
	char c;

	(void)arg;
	return read(none[0], &c, 1);
}

static long sleeps(void *arg)
{
	struct timespec ts = { 0, 400 * T_MS };

	(void)arg;
	left.tv_nsec = -1;
	return nanosleep(&ts, &left);
}

static void by_itself(struct t_call *c, int sig)
{
	(void)c;
	CHECK_0(kill(getpid(), sig));
}

static void to_thread(struct t_call *c, int sig)
{
	CHECK_0(pthread_kill(c->th, sig));
}

static void by_child(struct t_call *c, int sig)
{
	pid_t pid = fork();

	(void)c;
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(kill(getppid(), sig) != 0);
	CHECK(t_wait(pid) == 0);
}

static const struct {
	const char *name;
	long (*fn)(void *);
} calls[] = { { "epoll_wait", polls_events },
	      { "sigtimedwait", waits_for_signal },
	      { "read", reads },
	      { "nanosleep", sleeps } };

static const struct {
	void (*fn)(struct t_call *, int);
	int sig;
} sent[] = { { by_itself, SIGTSTP },
	     { to_thread, SIGTTIN },
	     { by_child, SIGTTOU } };

/* Main blocks them, so that they are for the other thread. */
static void *opens(void *arg)
{
	struct t_call *c = arg;

	c->th = pthread_self();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	errno = 0;
	CHECK(sem_post(&c->begun) == 0);
	c->r = c->fn(c->arg);
	if (c->r < 0)
		c->r = -errno;
	atomic_store(&c->ended, 1);
	return NULL;
}

static void try(long (*fn)(void *), const char *name,
		void (*send)(struct t_call *, int), int sig)
{
	struct t_call c = { .fn = fn };
	pthread_t th;

	CHECK(sem_init(&c.begun, 0, 0) == 0);
	th = t_thread(opens, &c);
	t_down(&c.begun);
	t_pause();
	send(&c, sig);
	t_pause();
	if (fn == reads) {
		CHECK(!atomic_load(&c.ended));
		t_put(none[1], 'x');
	}
	t_join(th);
	printf("%s %d: %ld\n", name, sig, c.r);
	if (fn == sleeps)
		CHECK(left.tv_sec == 0 && left.tv_nsec > 0 &&
		      left.tv_nsec <= 400 * T_MS);
	CHECK(sem_destroy(&c.begun) == 0);
}

static int orphaned(void)
{
	sigset_t set;

	CHECK(setsid() >= 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	ep = epoll_create1(0);
	CHECK(ep >= 0);
	t_pipe(none);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (size_t k = 0; k < sizeof(sent) / sizeof(*sent); k++)
			try(calls[i].fn, calls[i].name, sent[k].fn,
			    sent[k].sig);
	fflush(stdout);
	return 0;
}

int main(void)
{
	pid_t pid = fork();
	int st;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(orphaned());
	CHECK(waitpid(pid, &st, WUNTRACED) == pid);
	CHECK(WIFEXITED(st));
	return WEXITSTATUS(st);
}
