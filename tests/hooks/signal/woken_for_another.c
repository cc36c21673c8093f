/*
 * A signal to the process wakes a thread that does not block it, and another one, which
 * opens its mask, takes it first, or drops it: system() does so with its child's SIGCHLD.
 * The first one's call ends all the same, if it is one that signals end whatever their
 * action; any other goes on.
 */
#include "../calls.h"
#include <sys/epoll.h>
#include <sys/sem.h>

enum { TIMES = 10 };

static sem_t begin;
static int pipes[2], pair[2], ep, sem;

static void *runs(void *arg)
{
	(void)arg;
	for (;;) {
		t_down(&begin);
		t_pause();
		CHECK(system("exec true") == 0);
		if (t_get(pipes[0]) != '.')
			return NULL;
	}
}

static long waits(void)
{
	struct timespec limit = { 10, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &limit);
}

static long polls_events(void)
{
	struct epoll_event e;

	return epoll_wait(ep, &e, 1, 10000);
}

static long operates(void)
{
	struct sembuf op = { .sem_op = -1 };

	return semop(sem, &op, 1);
}

static long receives(void)
{
	char b;

	return recv(pair[0], &b, 1, 0);
}

static long polls(void)
{
	struct pollfd p = { .fd = pair[0], .events = POLLIN };

	return poll(&p, 1, 300);
}

static long sleeps(void)
{
	struct timespec ts = { 0, 300 * T_MS };

	return nanosleep(&ts, NULL);
}

static void on_child(int sig)
{
	(void)sig;
}

static void each(const char *name, long (*call)(void))
{
	char what[64];
	long r = 0;

	for (int i = 0; i < TIMES; i++) {
		CHECK(sem_post(&begin) == 0);
		r = call();
		snprintf(what, sizeof(what), "%s: %s", name,
			 r < 0 ? strerrorname_np(errno) : "goes on");
		t_put(pipes[1], '.');
		if (i == 0 || r >= 0)
			t_say("%s", what);
		if (r >= 0)
			return;
		CHECK(errno == EINTR);
	}
}

static void all(void)
{
	each("sigtimedwait", waits);
	each("epoll_wait", polls_events);
	each("semop", operates);
	each("recv with a limit", receives);
	each("poll", polls);
	each("nanosleep", sleeps);
}

int main(void)
{
	struct timeval limit = { 10, 0 };
	pthread_t th;

	CHECK_0(sem_init(&begin, 0, 0));
	CHECK_0(pipe(pipes));
	CHECK_0(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_0(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			   sizeof(limit)));
	ep = epoll_create1(0);
	sem = semget(IPC_PRIVATE, 1, 0600);
	CHECK(ep >= 0 && sem >= 0);
	th = t_thread(runs, NULL);
	all();
	t_handle(SIGCHLD, on_child, SA_RESTART);
	t_say("with a handler");
	each("sigtimedwait", waits);
	each("epoll_wait", polls_events);
	CHECK(sem_post(&begin) == 0);
	t_put(pipes[1], 'x');
	t_join(th);
	CHECK_0(semctl(sem, 0, IPC_RMID));
	return 0;
}
