/*
 * A signal that another process sends to this one, followed by something that
 * this one waits for: whoever reads the message has handled the signal. Main
 * alone takes it, as the kernel would have it: the other thread blocks all. Or main
 * blocks it, and a thread of its own takes it.
 *
 * t-case: pipe
 * t-case: pipe_nowait
 * t-case: socket
 * t-case: eventfd
 * t-case: tcp
 * t-case: poll
 * t-case: select
 * t-case: epoll
 * t-case: exit
 * t-case: waitid
 * t-case: sem
 * t-case: lock
 * t-case: sysv
 * t-case: semop
 * t-case: mqueue
 * t-case: group
 * t-case: sigtimedwait
 * t-case: thread
 */
#include "t.h"
#include <mqueue.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#define ROUNDS 200

static volatile sig_atomic_t hits;

static void on_signal(int sig)
{
	(void)sig;
	hits++;
}

static void *blocks_all(void *arg)
{
	sigset_t all;
	int *p = arg;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	t_put(p[1], 'r');
	t_eof(p[2]);
	return NULL;
}

/* A child that @tell()s for each byte of main's, with a signal before. */
static int go[2];
static pid_t child;

static void begin(void (*tell)(void))
{
	t_pipe(go);
	child = fork();
	CHECK(child >= 0);
	if (child)
		return;
	close(go[1]);
	for (char c; read(go[0], &c, 1) == 1;) {
		tell();
	}
	_exit(0);
}

static void ask(void)
{
	t_put(go[1], 'g');
}

static void end(void)
{
	t_close(go[1]);
	t_close(go[0]);
	t_wait_ok(child);
}

static int fds[2];

static void tell_fd(void)
{
	CHECK(!kill(getppid(), SIGUSR1));
	t_put(fds[1], 'x');
}

static void tell_event(void)
{
	uint64_t one = 1;

	CHECK(!kill(getppid(), SIGUSR1));
	CHECK(write(fds[0], &one, 8) == 8);
}

static void by_fd(int (*wait)(void), void (*tell)(void))
{
	begin(tell);
	for (int i = 0; i < ROUNDS; i++) {
		int before = hits;

		ask();
		CHECK(wait() == 1);
		CHECK(hits == before + 1);
	}
	end();
}

static int get(void)
{
	char c;

	return (int)read(fds[0], &c, 1);
}

/* Until it succeeds: interrupted by the signal, more often than not. */
static int get_again(void)
{
	int r;

	do
		r = get();
	while (r < 0 && errno == EINTR);
	return r;
}

/* Mostly there is something before the call is made. */
static int get_late(void)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };

	for (;;) {
		for (volatile int i = 0; i < 3000; i++)
			;
		if (poll(&p, 1, 0) == 1)
			return get();
	}
}

static int get_event(void)
{
	uint64_t n;

	return read(fds[0], &n, 8) == 8 ? 1 : -1;
}

static int polled(void)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, -1);
	while (r < 0 && errno == EINTR);
	CHECK(r == 1);
	return get();
}

static int selected(void)
{
	int r;
	fd_set set;

	do {
		FD_ZERO(&set);
		FD_SET(fds[0], &set);
		r = select(fds[0] + 1, &set, NULL, NULL, NULL);
	} while (r < 0 && errno == EINTR);
	CHECK(r == 1);
	return get();
}

static int epfd;

static int epolled(void)
{
	struct epoll_event ev;
	int r;

	do
		r = epoll_wait(epfd, &ev, 1, -1);
	while (r < 0 && errno == EINTR);
	CHECK(r == 1);
	return get();
}

static void children(int id)
{
	for (int i = 0; i < ROUNDS; i++) {
		int before = hits, r;
		siginfo_t si;

		child = fork();
		CHECK(child >= 0);
		if (!child) {
			kill(getppid(), SIGUSR1);
			_exit(0);
		}
		do
			r = id ? waitid(P_PID, (id_t)child, &si, WEXITED) :
				 waitpid(child, NULL, 0);
		while (r < 0 && errno == EINTR);
		CHECK(r == (id ? 0 : child));
		CHECK(hits == before + 1);
	}
}

static sem_t *sem;

/* Not before it waits: who finds it posted makes no system call. */
static void tell_sem(void)
{
	/* struct new_sem of glibc: the value, and above it the count of waiters
	 */
	_Atomic uint64_t *word = (_Atomic uint64_t *)sem;

	while (*word >> 32 == 0)
		sched_yield();
	CHECK(!kill(getppid(), SIGUSR1));
	CHECK(!sem_post(sem));
}

static int wait_sem(void)
{
	int r;

	do
		r = sem_wait(sem);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

static char path[64];

static void locks(void)
{
	snprintf(path, sizeof(path), "/tmp/before_data.%d", getpid());
	for (int i = 0; i < ROUNDS; i++) {
		int before = hits, fd = open(path, O_RDWR | O_CREAT, 0600), r;
		int ready[2];

		CHECK(fd >= 0);
		t_pipe(ready);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			fd = open(path, O_RDWR);
			CHECK(!flock(fd, LOCK_EX));
			t_put(ready[1], 'l');
			kill(getppid(), SIGUSR1);
			flock(fd, LOCK_UN);
			_exit(0);
		}
		CHECK(t_get(ready[0]) == 'l');
		do
			r = flock(fd, LOCK_EX);
		while (r < 0 && errno == EINTR);
		CHECK(r == 0 && hits == before + 1);
		t_close(fd);
		t_close(ready[0]);
		t_close(ready[1]);
		t_wait_ok(child);
	}
	unlink(path);
}

static int ipc;

static void tell_msg(void)
{
	struct {
		long type;
		char c;
	} m = { 1, 'x' };

	CHECK(!kill(getppid(), SIGUSR1));
	CHECK(!msgsnd(ipc, &m, 1, 0));
}

static int wait_msg(void)
{
	struct {
		long type;
		char c;
	} m;
	int r;

	do
		r = (int)msgrcv(ipc, &m, 1, 0, 0);
	while (r < 0 && errno == EINTR);
	return r;
}

static void tell_semop(void)
{
	struct sembuf op = { 0, 1, 0 };

	CHECK(!kill(getppid(), SIGUSR1));
	CHECK(!semop(ipc, &op, 1));
}

static int wait_semop(void)
{
	struct sembuf op = { 0, -1, 0 };
	int r;

	do
		r = semop(ipc, &op, 1);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

static mqd_t mq;

static void tell_mq(void)
{
	CHECK(!kill(getppid(), SIGUSR1));
	CHECK(!mq_send(mq, "x", 1, 0));
}

static int wait_mq(void)
{
	char c;
	int r;

	do
		r = (int)mq_receive(mq, &c, 1, NULL);
	while (r < 0 && errno == EINTR);
	return r;
}

/* kill() of the own process group, and of one's own id as a group. */
static void group(void)
{
	CHECK(!setpgid(0, 0) || getpgrp() == getpid());
	for (int i = 0; i < ROUNDS; i++) {
		int before = hits;

		CHECK(!kill(0, SIGUSR1));
		CHECK(hits == before + 1);
		CHECK(!killpg(getpgrp(), SIGUSR1));
		CHECK(hits == before + 2);
		CHECK(!kill(-getpgrp(), SIGUSR1));
		CHECK(hits == before + 3);
	}
}

/* Taken, not handled. */
static void taken(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_pipe(fds);
	begin(tell_fd);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec none = { 0, 0 };

		ask();
		CHECK(get() == 1);
		CHECK(sigtimedwait(&set, NULL, &none) == SIGUSR1);
	}
	end();
	CHECK(hits == 0);
}

static void *takes(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	by_fd(get, tell_fd);
	return arg;
}

static void by_thread(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_pipe(fds);
	t_join(t_thread(takes, NULL));
	t_close(fds[0]);
	t_close(fds[1]);
	t_pair(fds);
	t_join(t_thread(takes, NULL));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t other;
	int p[4];

	t_handle(SIGUSR1, on_signal, SA_RESTART);
	t_pipe(p);
	t_pipe(p + 2);
	other = t_thread(blocks_all, p);
	CHECK(t_get(p[0]) == 'r');
	if (!strcmp(how, "pipe")) {
		t_pipe(fds);
		by_fd(get, tell_fd);
		t_handle(SIGUSR1, on_signal, 0);
		by_fd(get_again, tell_fd);
	} else if (!strcmp(how, "pipe_nowait")) {
		t_pipe(fds);
		by_fd(get_late, tell_fd);
	} else if (!strcmp(how, "socket")) {
		t_pair(fds);
		by_fd(get, tell_fd);
	} else if (!strcmp(how, "tcp")) {
		t_tcp_pair(fds);
		by_fd(get, tell_fd);
	} else if (!strcmp(how, "eventfd")) {
		fds[0] = eventfd(0, 0);
		CHECK(fds[0] >= 0);
		by_fd(get_event, tell_event);
	} else if (!strcmp(how, "poll")) {
		t_pipe(fds);
		by_fd(polled, tell_fd);
	} else if (!strcmp(how, "select")) {
		t_pipe(fds);
		by_fd(selected, tell_fd);
	} else if (!strcmp(how, "epoll")) {
		struct epoll_event ev = { .events = EPOLLIN };

		t_pipe(fds);
		epfd = epoll_create1(0);
		CHECK(epfd >= 0);
		CHECK(!epoll_ctl(epfd, EPOLL_CTL_ADD, fds[0], &ev));
		by_fd(epolled, tell_fd);
	} else if (!strcmp(how, "exit")) {
		children(0);
	} else if (!strcmp(how, "waitid")) {
		children(1);
	} else if (!strcmp(how, "sem")) {
		sem = mmap(NULL, sizeof(*sem), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(sem != MAP_FAILED);
		CHECK(!sem_init(sem, 1, 0));
		by_fd(wait_sem, tell_sem);
	} else if (!strcmp(how, "lock")) {
		locks();
	} else if (!strcmp(how, "sysv")) {
		ipc = msgget(IPC_PRIVATE, 0600);
		CHECK(ipc >= 0);
		by_fd(wait_msg, tell_msg);
		CHECK(!msgctl(ipc, IPC_RMID, NULL));
	} else if (!strcmp(how, "semop")) {
		ipc = semget(IPC_PRIVATE, 1, 0600);
		CHECK(ipc >= 0);
		by_fd(wait_semop, tell_semop);
		CHECK(!semctl(ipc, 0, IPC_RMID));
	} else if (!strcmp(how, "mqueue")) {
		struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 1 };

		snprintf(path, sizeof(path), "/before_data.%d", getpid());
		mq = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
		CHECK(mq != (mqd_t)-1);
		mq_unlink(path);
		by_fd(wait_mq, tell_mq);
	} else if (!strcmp(how, "group")) {
		group();
	} else if (!strcmp(how, "sigtimedwait")) {
		taken();
	} else if (!strcmp(how, "thread")) {
		by_thread();
	} else {
		CHECK(!"a case");
	}
	t_close(p[3]);
	t_join(other);
	return 0;
}
