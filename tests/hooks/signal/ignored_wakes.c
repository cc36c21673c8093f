/*
 * A signal that is ignored is sent to the process, and main blocks it: so it is not dropped
 * as it comes, but given to a thread that does not, and dropped there. That ends what a stop
 * would end: sigwaitinfo(), epoll_wait(), semop() and io_getevents(). Other calls go on.
 *
 * t-case: ignored
 * t-case: default
 */
#include "../calls.h"
#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

static sigset_t other;
static int ep, sem, queue;
static aio_context_t aio;

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

static long semops(void *limit)
{
	struct sembuf op = { 0, -1, 0 };

	return limit ? semtimedop(sem, &op, 1, limit) : semop(sem, &op, 1);
}

static long events(void *limit)
{
	struct io_event e;

	return syscall(SYS_io_getevents, aio, 1, 1, &e, limit);
}

static long receives(void *arg)
{
	long m[2];

	(void)arg;
	return msgrcv(queue, m, 0, 0, 0);
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

/* Where the kernel has them. */
static void rarer(int sig, const sigset_t *set)
{
	struct timespec limit = { 100, 0 };
	long m[2] = { 1, 0 };
	struct t_call c;

	sem = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	for (int i = 0; i < 2 && sem >= 0; i++) {
		begin_open(&c, semops, i ? &limit : NULL, set);
		ended_by(sig, i ? "semtimedop" : "semop", &c);
	}
	for (int i = 0; i < 2 && !syscall(SYS_io_setup, 1, &aio); i++) {
		begin_open(&c, events, i ? &limit : NULL, set);
		ended_by(sig, "io_getevents", &c);
		CHECK(syscall(SYS_io_destroy, aio) == 0);
		aio = 0;
	}
	if (queue >= 0) {
		begin_open(&c, receives, NULL, set);
		CHECK(kill(getpid(), sig) == 0);
		t_waits(&c);
		CHECK(msgsnd(queue, m, 0, 0) == 0);
		t_ended("msgrcv", &c);
		CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	}
	if (sem >= 0)
		CHECK(semctl(sem, 0, IPC_RMID) == 0);
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
	rarer(sig, &set);
	return 0;
}
