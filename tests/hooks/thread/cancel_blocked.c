/*
 * pthread_cancel ends each of the blocking calls, whether it comes before
 * the call or during it; clean-up handlers run, in order, with the stack
 * and TLS of the thread.
 * t-case: read
 * t-case: write
 * t-case: readv
 * t-case: recv
 * t-case: recvmsg
 * t-case: recvfrom
 * t-case: send
 * t-case: accept
 * t-case: connect
 * t-case: connect_tcp
 * t-case: poll
 * t-case: ppoll
 * t-case: select
 * t-case: pselect
 * t-case: epoll
 * t-case: sleep
 * t-case: usleep
 * t-case: nanosleep
 * t-case: clock_nanosleep
 * t-case: pause
 * t-case: sigwait
 * t-case: sigsuspend
 * t-case: cond_wait
 * t-case: cond_timedwait
 * t-case: sem_wait
 * t-case: sem_timedwait
 * t-case: join
 * t-case: waitpid
 * t-case: open_fifo
 * t-case: fcntl_lock
 * t-case: msgrcv
 * t-case: mq_receive
 * t-case: fgetc
 * t-case: system
 */
#include "t.h"
#include <mqueue.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>

static const char *what;
static __thread int depth;
static sem_t near_;
static char big[1 << 22];

static void cleanup(void *arg)
{
	t_say("cleanup %d at depth %d", (int)(intptr_t)arg, depth);
	depth--;
}

static void with_mutex(void *arg)
{
	/* The mutex is ours again when the handlers run. */
	CHECK_0(pthread_mutex_unlock(arg));
	cleanup((void *)3);
}

#define IS(name) (strcmp(what, name) == 0)

static void block_in_sockets(int sv[2], int p[2])
{
	struct pollfd pf = { sv[0], POLLIN, 0 };
	struct iovec v = { big, 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct epoll_event ev = { .events = EPOLLIN };
	fd_set set;
	int port, ep;

	FD_ZERO(&set);
	FD_SET(sv[0], &set);
	if (IS("read"))
		read(sv[0], big, 1);
	else if (IS("write"))
		for (;;)
			CHECK(write(p[1], big, sizeof(big)) > 0);
	else if (IS("readv"))
		readv(p[0], &v, 1);
	else if (IS("recv"))
		recv(sv[0], big, 1, 0);
	else if (IS("recvmsg"))
		recvmsg(sv[0], &m, 0);
	else if (IS("recvfrom"))
		recvfrom(sv[0], big, 1, 0, NULL, NULL);
	else if (IS("send"))
		for (;;)
			CHECK(send(sv[0], big, sizeof(big), 0) > 0);
	else if (IS("accept"))
		accept(t_listen(&port), NULL, NULL);
	else if (IS("poll"))
		poll(&pf, 1, -1);
	else if (IS("ppoll"))
		ppoll(&pf, 1, NULL, NULL);
	else if (IS("select"))
		select(sv[0] + 1, &set, NULL, NULL, NULL);
	else if (IS("pselect"))
		pselect(sv[0] + 1, &set, NULL, NULL, NULL, NULL);
	else if (IS("epoll")) {
		ep = epoll_create1(0);
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, sv[0], &ev) == 0);
		epoll_wait(ep, &ev, 1, -1);
	} else if (IS("fgetc"))
		fgetc(fdopen(sv[0], "r"));
}

static void block_in_time(void)
{
	struct timespec ts = { 1000, 0 };

	if (IS("sleep"))
		sleep(1000);
	else if (IS("usleep"))
		usleep(1000000000);
	else if (IS("nanosleep"))
		nanosleep(&ts, NULL);
	else if (IS("clock_nanosleep"))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void block_in_signals(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	if (IS("pause"))
		pause();
	else if (IS("sigsuspend"))
		sigsuspend(&set);
	else if (IS("sigwait")) {
		sigaddset(&set, SIGUSR2);
		sigwait(&set, &sig);
	}
}

static void block_in_threads(void)
{
	static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec ts = t_in(CLOCK_REALTIME, 1000 * T_SEC);
	sem_t sem;

	CHECK(sem_init(&sem, 0, 0) == 0);
	if (IS("cond_wait") || IS("cond_timedwait")) {
		CHECK_0(pthread_mutex_lock(&mu));
		depth++;
		pthread_cleanup_push(with_mutex, &mu);
		for (;;)
			if (IS("cond_wait"))
				pthread_cond_wait(&cond, &mu);
			else
				pthread_cond_timedwait(&cond, &mu, &ts);
		pthread_cleanup_pop(0);
	} else if (IS("sem_wait"))
		sem_wait(&sem);
	else if (IS("sem_timedwait"))
		sem_timedwait(&sem, &ts);
}

static pthread_t forever;
static int lock_fd, mq;
static pid_t child;
static char fifo[PATH_MAX];

static void block_in_others(void)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct {
		long type;
		char b[8];
	} msg;
	int st;

	if (IS("join"))
		pthread_join(forever, NULL);
	else if (IS("waitpid"))
		waitpid(child, &st, 0);
	else if (IS("open_fifo"))
		open(fifo, O_RDONLY);
	else if (IS("fcntl_lock"))
		fcntl(lock_fd, F_OFD_SETLKW, &fl);
	else if (IS("msgrcv"))
		msgrcv(mq, &msg, sizeof(msg.b), 0, 0);
	else if (IS("system"))
		system("exec sleep 1000");
}

static void *victim(void *arg)
{
	int sv[2], p[2];

	t_pair(sv);
	t_pipe(p);
	depth = 1;
	pthread_cleanup_push(cleanup, (void *)1);
	depth = 2;
	pthread_cleanup_push(cleanup, (void *)2);
	CHECK(sem_post(&near_) == 0);
	block_in_sockets(sv, p);
	block_in_time();
	block_in_signals();
	block_in_threads();
	block_in_others();
	if (IS("connect")) {
		struct sockaddr_un u = { .sun_family = AF_UNIX };
		int l = socket(AF_UNIX, SOCK_STREAM, 0);

		snprintf(u.sun_path, sizeof(u.sun_path), "%s/u",
			 getenv("T_TMP"));
		CHECK(bind(l, (struct sockaddr *)&u, sizeof(u)) == 0);
		CHECK(listen(l, 0) == 0);
		for (;;)
			CHECK(connect(socket(AF_UNIX, SOCK_STREAM, 0),
				      (struct sockaddr *)&u, sizeof(u)) == 0);
	} else if (IS("connect_tcp")) {
		int port, l = t_bound(SOCK_STREAM, &port);
		struct sockaddr_in a = t_addr(port);

		CHECK(listen(l, 0) == 0);
		for (;;) /* the second one waits */
			CHECK(connect(socket(AF_INET, SOCK_STREAM, 0),
				      (struct sockaddr *)&a, sizeof(a)) == 0);
	} else if (IS("mq_receive")) {
		struct mq_attr at = { .mq_maxmsg = 1, .mq_msgsize = 8 };
		char name[32], b[8];
		mqd_t q;

		snprintf(name, sizeof(name), "/t-%d", (int)getpid());
		q = mq_open(name, O_RDWR | O_CREAT, 0600, &at);
		CHECK(q != (mqd_t)-1);
		CHECK(mq_unlink(name) == 0);
		mq_receive(q, b, 8, NULL);
	}
	t_say("came back");
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return arg;
}

static void *sleeps_on(void *arg)
{
	t_eof(*(int *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int hold[2], other;
	pthread_t th;

	CHECK(argc == 2);
	what = argv[1];
	CHECK(pipe2(hold, O_CLOEXEC) == 0);
	CHECK(sem_init(&near_, 0, 0) == 0);
	if (IS("waitpid")) {
		child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			t_close(hold[1]);
			t_eof(hold[0]);
			_exit(0);
		}
	}
	snprintf(fifo, sizeof(fifo), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(fifo, 0600) == 0);
	if (IS("fcntl_lock")) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
		other = open(path, O_RDWR | O_CREAT, 0600);
		lock_fd = open(path, O_RDWR);
		CHECK(other >= 0 && lock_fd >= 0);
		CHECK(fcntl(other, F_OFD_SETLK, &fl) == 0);
	}
	mq = msgget(IPC_PRIVATE, 0600);
	forever = t_thread(sleeps_on, &hold[0]);
	for (int turn = 0; turn < 4; turn++) {
		th = t_thread(victim, NULL);
		CHECK(sem_wait(&near_) == 0);
		if (turn % 2)
			t_settle();
		CHECK_0(pthread_cancel(th));
		CHECK(t_join(th) == PTHREAD_CANCELED);
		t_say("cancelled");
		if (IS("connect")) {
			char path[PATH_MAX];

			snprintf(path, sizeof(path), "%s/u", getenv("T_TMP"));
			CHECK(unlink(path) == 0);
		}
	}
	if (mq >= 0)
		CHECK(msgctl(mq, IPC_RMID, NULL) == 0);
	t_close(hold[1]);
	t_join(forever);
	if (IS("waitpid"))
		t_wait_ok(child);
	return 0;
}
