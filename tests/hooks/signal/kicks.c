/*
 * Thousands of signals to a thread that is always about to block in a call that
 * is polled first: each has its handler run.
 */
#include "t.h"
#include <pty.h>
#include <sys/timerfd.h>

enum { SIGNALS = 4000 };

static sem_t handled;
static _Atomic int stop;

static void on_signal(int sig)
{
	(void)sig;
	sem_post(&handled);
}

static void *acceptor(void *arg)
{
	while (!stop)
		CHECK_ERR(accept(*(int *)arg, NULL, NULL), EINTR);
	return NULL;
}

static void *reader(void *arg)
{
	char b[8];

	while (!stop)
		CHECK_ERR(read(*(int *)arg, b, sizeof(b)), EINTR);
	return NULL;
}

static void shower(const char *what, void *(*fn)(void *), int fd)
{
	pthread_t th;

	stop = 0;
	th = t_thread(fn, &fd);
	for (int i = 0; i < SIGNALS; i++) {
		CHECK_0(pthread_kill(th, SIGUSR1));
		t_down(&handled);
	}
	stop = 1;
	while (pthread_tryjoin_np(th, NULL) == EBUSY) {
		pthread_kill(th, SIGUSR1);
		t_settle();
	}
	while (sem_trywait(&handled) == 0)
		;
	t_say("%s", what);
}

int main(void)
{
	int port, m, s;

	CHECK(sem_init(&handled, 0, 0) == 0);
	t_handle(SIGUSR1, on_signal, 0);
	shower("accept", acceptor, t_listen(&port));
	CHECK(openpty(&m, &s, NULL, NULL, NULL) == 0);
	shower("terminal", reader, s);
	shower("timerfd", reader, timerfd_create(CLOCK_MONOTONIC, 0));
	return 0;
}
