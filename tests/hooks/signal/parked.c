/*
 * A signal with a handler while main is blocked: EINTR, or going on under
 * SA_RESTART where Linux goes on. The signal comes from a thread that has
 * blocked it, or from a child process, until the call was interrupted.
 * t-case: accept thread
 * t-case: accept child
 * t-case: accept4 child
 * t-case: poll thread
 * t-case: poll child
 * t-case: ppoll child
 * t-case: select thread
 * t-case: select child
 * t-case: pselect child
 * t-case: epoll_wait child
 * t-case: epoll_wait thread
 * t-case: pause thread
 * t-case: pause child
 * t-case: sigsuspend thread
 * t-case: sigsuspend child
 * t-case: sigtimedwait child
 * t-case: read_pipe thread
 * t-case: read_pipe child
 * t-case: read_socket thread
 * t-case: read_socket child
 * t-case: read_eventfd child
 * t-case: write_pipe child
 * t-case: send child
 * t-case: recv child
 * t-case: recvmsg thread
 * t-case: recvfrom child
 * t-case: recv_timeout child
 * t-case: sem_wait child
 * t-case: sem_wait thread
 * t-case: sem_timedwait thread
 * t-case: futex thread
 * t-case: waitpid thread
 * t-case: wait4 thread
 * t-case: flock child
 * t-case: record_lock child
 * t-case: msgrcv child
 * t-case: semop child
 * t-case: open_fifo child
 * t-case: connect_unix child
 */
#include "poke.h"
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>

static const char *what;
static volatile int hits;
static pthread_t main_thread;
static int wrong_thread;

static void on_sig(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), main_thread))
		wrong_thread++;
	hits++;
}

#define IS(name) (strcmp(what, name) == 0)

static int sv[2], p[2], full[2], l, ep, ev, file, other_file, mq, sem, ul;
static struct sockaddr_un uaddr = { .sun_family = AF_UNIX };
static char path[PATH_MAX], fifo[PATH_MAX], big[1 << 16];
static sem_t psem;
static pid_t child;
static uint32_t word;

static long in_net(void)
{
	struct iovec v = { big, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct timeval tv = { 100, 0 };

	if (IS("accept"))
		return accept(l, NULL, NULL);
	if (IS("accept4"))
		return accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (IS("read_socket"))
		return read(sv[0], big, 1);
	if (IS("recv"))
		return recv(sv[0], big, 1, 0);
	if (IS("recvmsg"))
		return recvmsg(sv[0], &m, 0);
	if (IS("recvfrom"))
		return recvfrom(sv[0], big, 1, 0, NULL, NULL);
	if (IS("recv_timeout")) {
		CHECK(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &tv,
				 sizeof(tv)) == 0);
		return recv(sv[0], big, 1, 0);
	}
	if (IS("send"))
		return send(full[1], big, sizeof(big), 0);
	if (IS("connect_unix"))
		return connect(socket(AF_UNIX, SOCK_STREAM, 0),
			       (struct sockaddr *)&uaddr, sizeof(uaddr));
	return 0;
}

static long in_poll(void)
{
	struct pollfd pf = { sv[0], POLLIN, 0 };
	struct epoll_event e;
	struct timespec ts = { 100, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(sv[0], &set);
	if (IS("poll"))
		return poll(&pf, 1, hits % 2 ? -1 : 100000);
	if (IS("ppoll"))
		return ppoll(&pf, 1, hits % 2 ? NULL : &ts, NULL);
	if (IS("select"))
		return select(sv[0] + 1, &set, NULL, NULL, NULL);
	if (IS("pselect"))
		return pselect(sv[0] + 1, &set, NULL, NULL, &ts, NULL);
	if (IS("epoll_wait"))
		return epoll_wait(ep, &e, 1, -1);
	return 0;
}

static long in_signals(void)
{
	struct timespec ts = { 100, 0 };
	sigset_t set;

	sigemptyset(&set);
	if (IS("pause"))
		return pause();
	if (IS("sigsuspend"))
		return sigsuspend(&set);
	if (IS("sigtimedwait")) {
		sigaddset(&set, SIGUSR2);
		return sigtimedwait(&set, NULL, &ts);
	}
	return 0;
}

static long in_io(void)
{
	uint64_t v;

	if (IS("read_pipe"))
		return read(p[0], big, 1);
	if (IS("read_eventfd"))
		return read(ev, &v, sizeof(v));
	if (IS("write_pipe"))
		return write(full[1], big, sizeof(big));
	if (IS("open_fifo"))
		return open(fifo, O_RDONLY);
	return 0;
}

static long in_others(void)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct timespec ts = t_in(CLOCK_REALTIME, 100 * T_SEC);
	struct sembuf down = { 0, -1, 0 };
	struct {
		long type;
		char b[8];
	} msg;
	int st;

	if (IS("sem_wait"))
		return sem_wait(&psem);
	if (IS("sem_timedwait"))
		return sem_timedwait(&psem, &ts);
	if (IS("futex"))
		return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL,
			       NULL, 0);
	if (IS("waitpid"))
		return waitpid(child, &st, 0);
	if (IS("wait4"))
		return wait4(child, &st, 0, NULL);
	if (IS("flock"))
		return flock(file, LOCK_EX);
	if (IS("record_lock"))
		return fcntl(file, F_OFD_SETLKW, &fl);
	if (IS("msgrcv"))
		return msgrcv(mq, &msg, sizeof(msg.b), 0, 0);
	if (IS("semop"))
		return semop(sem, &down, 1);
	return 0;
}

static long call(void)
{
	long r = in_net();

	if (!r)
		r = in_poll();
	if (!r)
		r = in_signals();
	if (!r)
		r = in_io();
	if (!r)
		r = in_others();
	return r;
}

static void prepare(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int port, hold[2];

	t_pipe(hold);
	t_pair(sv);
	t_pipe(p);
	if (IS("send")) {
		t_pair(full);
		while (send(full[1], big, sizeof(big), MSG_DONTWAIT) > 0)
			;
	} else {
		t_pipe(full);
		t_write(full[1], big, sizeof(big));
	}
	l = t_listen(&port);
	ep = epoll_create1(0);
	ev = eventfd(0, 0);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, sv[0], &e) == 0);
	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	snprintf(fifo, sizeof(fifo), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(fifo, 0600) == 0);
	file = open(path, O_RDWR | O_CREAT, 0600);
	other_file = open(path, O_RDWR);
	CHECK(flock(other_file, LOCK_EX) == 0);
	CHECK(fcntl(other_file, F_OFD_SETLK, &fl) == 0);
	mq = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	CHECK(sem_init(&psem, 0, 0) == 0);
	ul = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(uaddr.sun_path, sizeof(uaddr.sun_path), "%s/u",
		 getenv("T_TMP"));
	CHECK(bind(ul, (struct sockaddr *)&uaddr, sizeof(uaddr)) == 0);
	CHECK(listen(ul, 0) == 0);
	CHECK(connect(socket(AF_UNIX, SOCK_STREAM, 0),
		      (struct sockaddr *)&uaddr, sizeof(uaddr)) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		t_get(hold[0]);
		_exit(0);
	}
}

/* Each of these goes on after a handler with SA_RESTART. */
static int restarts(void)
{
	static const char *const never[] = {
		"poll",	      "ppoll", "select",       "pselect",
		"epoll_wait", "pause", "sigsuspend",   "sigtimedwait",
		"msgrcv",     "semop", "recv_timeout", "sem_timedwait"
	};

	for (size_t i = 0; i < T_LEN(never); i++)
		if (IS(never[i]))
			return 0;
	return 1;
}

/* Ends the call that goes on, once enough signals were handled. */
static void *finish(void *arg)
{
	sigset_t all;
	int fd = -1;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	while (hits < 5)
		sched_yield();
	if (IS("accept") || IS("accept4")) {
		struct sockaddr_in a;
		socklen_t len = sizeof(a);

		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(getsockname(l, (struct sockaddr *)&a, &len) == 0);
		CHECK(connect(fd, (struct sockaddr *)&a, len) == 0);
	} else if (IS("write_pipe") || IS("send")) {
		t_read(full[0], big, sizeof(big));
		while (recv(full[0], big, sizeof(big), MSG_DONTWAIT) > 0)
			;
	} else if (IS("read_eventfd"))
		CHECK(eventfd_write(ev, 1) == 0);
	else if (IS("open_fifo")) {
		fd = open(fifo, O_WRONLY);
		CHECK(fd >= 0);
	} else if (IS("connect_unix")) {
		fd = accept(ul, NULL, NULL);
		CHECK(fd >= 0);
	} else if (IS("sem_wait") || IS("sem_timedwait"))
		CHECK(sem_post(&psem) == 0);
	else if (IS("futex")) {
		__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
		CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL,
			      NULL, 0) >= 0);
	} else if (IS("waitpid") || IS("wait4"))
		CHECK(kill(child, SIGKILL) == 0);
	else if (IS("flock"))
		CHECK(flock(other_file, LOCK_UN) == 0);
	else if (IS("record_lock")) {
		struct flock fl = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

		CHECK(fcntl(other_file, F_OFD_SETLK, &fl) == 0);
	} else if (IS("read_pipe"))
		t_put(p[1], 'x');
	else
		t_put(sv[1], 'x');
	return arg;
}

int main(int argc, char **argv)
{
	enum t_poke_from from;
	struct t_poker poker;
	sigset_t all, old;
	pthread_t th;
	long r;

	CHECK(argc == 3);
	what = argv[1];
	from = argv[2][0] == 'c' ? T_FROM_CHILD : T_FROM_THREAD;
	main_thread = pthread_self();
	prepare();
	t_be_threaded();
	for (int restart = 0; restart < 2; restart++) {
		t_handle(SIGUSR1, on_sig, restart ? SA_RESTART : 0);
		if (restart && restarts())
			break;
		for (int i = 0; i < 5; i++) {
			int before = hits;

			t_poke(&poker, SIGUSR1, from);
			CHECK_ERR(call(), EINTR);
			CHECK(hits > before);
			t_unpoke(&poker);
		}
		t_say("%s: EINTR", restart ? "SA_RESTART" : "plain");
	}
	if (restarts()) {
		hits = 0;
		sigfillset(&all);
		CHECK_0(pthread_sigmask(SIG_BLOCK, &all, &old));
		th = t_thread(finish, NULL);
		CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
		t_poke(&poker, SIGUSR1, from);
		r = call();
		/* A futex wait that lost the race sees the new value. */
		if (IS("futex") && r == -1 && errno == EAGAIN)
			r = 0;
		CHECK(r >= 0);
		CHECK(hits >= 5);
		t_unpoke(&poker);
		t_join(th);
		t_say("SA_RESTART: went on");
	}
	CHECK(wrong_thread == 0);
	if (mq >= 0)
		CHECK(msgctl(mq, IPC_RMID, NULL) == 0);
	if (sem >= 0)
		CHECK(semctl(sem, 0, IPC_RMID) == 0);
	kill(child, SIGKILL);
	return 0;
}
