/*
 * A stop and SIGCONT end some calls with EINTR, though no handler runs
 * (signal(7)): epoll_wait(), sigtimedwait(), semop(), socket calls with a time
 * limit, and what has done a part. Others begin anew, by the number that they were
 * called with, whatever file that is by then, whatever a futex is by then, and whether
 * they may wait by then: all of them, also who has been passed a wake-up for nothing.
 * SIGCONT alone ends none.
 *
 * t-case: end
 * t-case: on
 * t-case: moved
 * t-case: words
 * t-case: children
 * t-case: changed
 * t-case: behind
 * t-case: messages
 * t-case: rest
 * t-no-stats: the stopped child leaves by _exit()
 * t-chaos-but idle_kick: a call that the kernel makes, and again by another number then
 */
#include "../calls.h"
#include <linux/futex.h>
#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/sem.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static char big[1 << 20];
static int ep, with_limit, writing[2], listener, full[2], sem, queue;
static sigset_t usr2;

static long epolls(void *arg)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, arg ? 1000 : -1);
}

static long recvs(void *arg)
{
	char c;

	return recv(*(int *)arg, &c, 1, 0);
}

static long reads(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1);
}

static long sigwaits(void *arg)
{
	struct timespec ts = { 10, 0 };

	(void)arg;
	return sigtimedwait(&usr2, NULL, &ts);
}

static long accepts(void *arg)
{
	return accept(*(int *)arg, NULL, NULL);
}

static long writes(void *arg)
{
	return write(*(int *)arg, big, sizeof(big)) < (long)sizeof(big);
}

static long semops(void *arg)
{
	struct sembuf b = { 0, -1, 0 };

	return semop(*(int *)arg, &b, 1);
}

static long msgrcvs(void *arg)
{
	struct {
		long type;
		char text[1];
	} m;

	return msgrcv(*(int *)arg, &m, 1, 0, 0);
}

static long polls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, -1);
}

static long sleeps(void *arg)
{
	struct timespec ts = { 0, 200 * T_MS };

	(void)arg;
	return nanosleep(&ts, NULL);
}

static void limit(int fd, int name)
{
	struct timeval tv = { 10, 0 };

	CHECK(setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)) == 0);
}

/* The child's parent stops it, and has it go on, when it says so. */
static void be_stopped(int to, int from)
{
	t_put(to, 's');
	t_get(from);
}

static void ended(int to, int from)
{
	int sv[2], port;
	struct t_call c[7];

	t_pair(sv);
	limit(sv[0], SO_RCVTIMEO);
	with_limit = sv[0];
	t_tcp_pair(full);
	limit(full[0], SO_SNDTIMEO);
	listener = t_listen(&port);
	limit(listener, SO_RCVTIMEO);
	t_pipe(writing);
	t_begin(&c[0], epolls, NULL);
	t_begin(&c[1], recvs, &with_limit);
	t_begin(&c[2], sigwaits, NULL);
	t_begin(&c[3], accepts, &listener);
	t_begin(&c[4], writes, &writing[1]);
	t_begin(&c[5], semops, &sem);
	be_stopped(to, from);
	t_ended("epoll_wait", &c[0]);
	t_ended("recv with a limit", &c[1]);
	t_ended("sigtimedwait", &c[2]);
	t_ended("accept with a limit", &c[3]);
	t_ended("a part is written", &c[4]);
	t_ended("semop", &c[5]);
	/* With what is there they end as they would. */
	t_begin(&c[0], recvs, &with_limit);
	t_put(sv[1], 'x');
	t_ended("recv after it", &c[0]);
}

static void on(int to, int from)
{
	int p[2], sv[2], port, l = t_listen(&port);
	struct t_call c[6];
	struct msgbuf {
		long type;
		char text[1];
	} m = { 1, "x" };

	t_pipe(p);
	t_pair(sv);
	t_begin(&c[0], reads, &p[0]);
	t_begin(&c[1], recvs, &sv[0]);
	t_begin(&c[2], polls, &p[0]);
	t_begin(&c[3], accepts, &l);
	t_begin(&c[4], msgrcvs, &queue);
	t_begin(&c[5], sleeps, NULL);
	be_stopped(to, from);
	t_ended("nanosleep", &c[5]);
	for (int i = 0; i < 5; i++)
		t_waits(&c[i]);
	t_put(sv[1], 'x');
	t_ended("recv goes on", &c[1]);
	t_close(t_connect(port));
	CHECK(t_end(&c[3]) >= 0);
	CHECK(msgsnd(queue, &m, 1, 0) == 0);
	t_ended("msgrcv goes on", &c[4]);
	t_put(p[1], 'x');
	t_put(p[1], 'x');
	t_ended("poll goes on", &c[2]);
	t_ended("read goes on", &c[0]);
	/* It was not stopped. */
	t_begin(&c[0], epolls, &ep);
	CHECK(kill(getpid(), SIGCONT) == 0);
	t_ended("SIGCONT alone", &c[0]);
}

/* What they wait for has lost its number, or another file has it. */
static long peeks(void *arg)
{
	char b[2];

	return recv(*(int *)arg, b, 2, MSG_PEEK | MSG_WAITALL);
}

static long flocks(void *arg)
{
	return flock(*(int *)arg, LOCK_EX);
}

static void moved(int to, int from)
{
	int p[2], other[2], sv[2], looked[2], port, l = t_listen(&port);
	int tcp[2], file[2];
	char path[32];
	struct t_call c[4], kernel[2];

	t_pipe(p);
	t_pipe(other);
	t_pipe(looked);
	t_pair(sv);
	t_begin(&c[0], reads, &p[0]);
	t_begin(&c[1], recvs, &sv[0]);
	t_begin(&c[2], polls, &looked[0]);
	t_begin(&c[3], accepts, &l);
	/* These the kernel makes. */
	t_tcp_pair(tcp);
	file[0] = memfd_create("locked", 0);
	CHECK(file[0] >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file[0]);
	file[1] = open(path, O_RDWR);
	CHECK(file[1] >= 0);
	CHECK_0(flock(file[0], LOCK_EX));
	t_begin(&kernel[0], peeks, &tcp[0]);
	t_begin(&kernel[1], flocks, &file[1]);
	CHECK(dup2(other[0], p[0]) == p[0]);
	t_close(sv[0]);
	t_close(looked[0]);
	t_close(l);
	t_close(tcp[0]);
	t_close(file[1]);
	for (int i = 0; i < 4; i++)
		t_waits(&c[i]);
	for (int i = 0; i < 2; i++)
		t_waits(&kernel[i]);
	be_stopped(to, from);
	t_ended("recv of all, closed", &kernel[0]);
	t_ended("flock, closed", &kernel[1]);
	t_ended("recv, closed", &c[1]);
	t_ended("poll, closed", &c[2]);
	t_ended("accept, closed", &c[3]);
	t_waits(&c[0]);
	t_put(other[1], 'x');
	t_ended("read, of another file now", &c[0]);
}

static uint32_t *word;

static long waits(void *arg)
{
	return syscall(SYS_futex, arg, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static long waits_limited(void *arg)
{
	struct timespec ts = { 10, 0 };

	return syscall(SYS_futex, arg, FUTEX_WAIT_PRIVATE, 0, &ts);
}

static long waits_shared(void *arg)
{
	return syscall(SYS_futex, arg, FUTEX_WAIT, 0, NULL);
}

static long waits_vector(void *arg)
{
	struct futex_waitv v[2];

	memset(v, 0, sizeof(v));
	for (int i = 0; i < 2; i++) {
		v[i].uaddr = (uintptr_t)((uint32_t *)arg + i);
		v[i].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
	}
	return syscall(SYS_futex_waitv, v, 2, 0, NULL, 0);
}

/* The words of some are others, and nobody has said so. */
static void words(int to, int from)
{
	enum { SHARED = 12 };
	struct t_call c[5], shared[SHARED];

	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(word != MAP_FAILED);
	t_begin(&c[0], waits, &word[0]);
	t_begin(&c[1], waits_limited, &word[1]);
	t_begin(&c[2], waits_vector, &word[2]);
	t_begin(&c[3], waits, &word[4]);
	t_begin(&c[4], waits_limited, &word[5]);
	for (int i = 0; i < SHARED; i++)
		t_begin(&shared[i], waits_shared, &word[6]);
	word[0] = word[1] = word[3] = word[6] = 1;
	for (int i = 0; i < 5; i++)
		t_waits(&c[i]);
	be_stopped(to, from);
	t_ended("another word", &c[0]);
	t_ended("with a limit", &c[1]);
	t_ended("one of two", &c[2]);
	for (int i = 0; i < SHARED; i++)
		CHECK(t_end(&shared[i]) == -EAGAIN);
	for (int i = 3; i < 5; i++) {
		t_waits(&c[i]);
		CHECK(syscall(SYS_futex, &word[i + 1], FUTEX_WAKE_PRIVATE, 9) ==
		      1);
		t_ended("the same word", &c[i]);
	}
}

static char fifo[64];

static long opens(void *arg)
{
	(void)arg;
	return open(fifo, O_RDONLY);
}

static long splices(void *arg)
{
	int *fd = arg;

	return splice(fd[0], NULL, fd[1], NULL, 1, 0);
}

static long awaits_group(void *arg)
{
	return waitpid(0, arg, 0);
}

static void nonblock(int fd)
{
	int on = 1;

	CHECK(ioctl(fd, FIONBIO, &on) == 0);
}

/* They may not wait any more; or what they ask for is something else. */
static void changed(int to, int from)
{
	enum { OPENERS = 6, GROUPS = 4 };
	int p[2], sv[2], full_up[2], into[2], between[2], st, port;
	struct t_call c[5], o[OPENERS], g[GROUPS];
	pid_t pid;

	snprintf(fifo, sizeof(fifo), "/tmp/stop_ends.%d", getpid());
	CHECK(mkfifo(fifo, 0600) == 0);
	listener = t_listen(&port);
	t_pipe(p);
	t_pair(sv);
	t_pipe(full_up);
	CHECK(fcntl(full_up[1], F_SETPIPE_SZ, 4096) == 4096);
	CHECK(write(full_up[1], big, 4096) == 4096);
	t_pipe(into);
	t_pipe(between);
	t_begin(&c[0], reads, &p[0]);
	t_begin(&c[1], recvs, &sv[0]);
	t_begin(&c[2], writes, &full_up[1]);
	t_begin(&c[3], accepts, &listener);
	t_begin(&c[4], splices, (int[]){ into[0], between[1] });
	for (int i = 0; i < OPENERS; i++)
		t_begin(&o[i], opens, NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	for (int i = 0; i < GROUPS; i++)
		t_begin(&g[i], awaits_group, &st);
	nonblock(p[0]);
	nonblock(sv[0]);
	nonblock(full_up[1]);
	nonblock(listener);
	nonblock(into[0]);
	CHECK(unlink(fifo) == 0);
	CHECK(setpgid(pid, pid) == 0);
	for (int i = 0; i < 5; i++)
		t_waits(&c[i]);
	be_stopped(to, from);
	t_ended("read", &c[0]);
	t_ended("recv", &c[1]);
	CHECK(t_end(&c[2]) == 1);
	t_ended("accept", &c[3]);
	t_ended("splice", &c[4]);
	for (int i = 0; i < OPENERS; i++)
		t_ended("open", &o[i]);
	for (int i = 0; i < GROUPS; i++)
		t_ended("waitpid", &g[i]);
	CHECK(kill(pid, SIGKILL) == 0 && t_wait(pid) != -1);
}

/* Each wakes the next one when it is over; the first has had what there was. */
static void behind(int to, int from)
{
	enum { EACH = 4 };
	struct t_call limited[EACH], c[EACH];
	int udp[2], p[2];

	t_udp_pair(udp);
	limit(udp[0], SO_RCVTIMEO);
	t_pipe(p);
	for (int i = 0; i < EACH; i++) {
		t_begin(&limited[i], recvs, &udp[0]);
		t_begin(&c[i], reads, &p[0]);
	}
	CHECK(send(udp[1], "x", 1, 0) == 1);
	t_put(p[1], 'x');
	CHECK(t_end(&limited[0]) == 1);
	CHECK(t_end(&c[0]) == 1);
	nonblock(p[0]);
	for (int i = 1; i < EACH; i++) {
		t_waits(&limited[i]);
		t_waits(&c[i]);
	}
	be_stopped(to, from);
	for (int i = 1; i < EACH; i++) {
		CHECK(t_end(&limited[i]) == -EINTR);
		CHECK(t_end(&c[i]) == -EAGAIN);
	}
}

static long sends_two(void *arg)
{
	struct iovec v = { big, 50000 };
	struct mmsghdr m[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_iov = &v;
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return sendmmsg(*(int *)arg, m, 2, 0);
}

/*
 * There is some room, less than the sender is woken for: a stop has it look. One message
 * goes, and the next, which would wait, does not.
 */
static void messages(int to, int from)
{
	enum { N = 3 };
	static const int types[N] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_DGRAM };
	struct t_call c[N];
	int sv[N][2];
	char b[2];

	for (int i = 0; i < N; i++) {
		CHECK(socketpair(AF_UNIX, types[i], 0, sv[i]) == 0);
		if (i == 2)
			limit(sv[i][0], SO_SNDTIMEO);
		while (send(sv[i][0], b, 1, MSG_DONTWAIT) == 1)
			;
		t_begin(&c[i], sends_two, &sv[i][0]);
		CHECK(recv(sv[i][1], b, sizeof(b), 0) == 1);
		t_waits(&c[i]);
	}
	be_stopped(to, from);
	for (int i = 0; i < N; i++)
		t_ended("sendmmsg", &c[i]);
}

enum { REST = 500 }; /* more than any of the buffers below has room for */

static long sends_many(void *arg)
{
	struct iovec v = { big, 2000 };
	struct mmsghdr m[REST] = { 0 };

	for (int i = 0; i < REST; i++) {
		m[i].msg_hdr.msg_iov = &v;
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return sendmmsg(*(int *)arg, m, REST, 0);
}

static int bound(int family, int type, int protocol, const void *name,
		 socklen_t len)
{
	int fd = socket(family, type, protocol);

	CHECK(fd >= 0 && bind(fd, name, len) == 0);
	return fd;
}

static int option(int fd, int name)
{
	int value;
	socklen_t len = sizeof(value);

	CHECK_0(getsockopt(fd, SOL_SOCKET, name, &value, &len));
	return value;
}

static int connected_to(int other)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	int fd = socket(option(other, SO_DOMAIN), option(other, SO_TYPE),
			option(other, SO_PROTOCOL));

	CHECK_0(getsockname(other, (struct sockaddr *)&at, &len));
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, len) == 0);
	return fd;
}

/* Of one byte each: the first is there, though SO_RCVLOWAT asks for more. */
static long receives_two(int fd, int flags, struct timespec *limit)
{
	char b[2];
	struct iovec v[2] = { { &b[0], 1 }, { &b[1], 1 } };
	struct mmsghdr m[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(fd, m, 2, flags, limit);
}

static long receives_whole(void *arg)
{
	return receives_two(*(int *)arg, MSG_WAITALL, NULL);
}

static long receives_in_time(void *arg)
{
	struct timespec limit = { 100, 0 };

	return receives_two(*(int *)arg, 0, &limit);
}

/*
 * Who waits for room in the receiver, alone and in line, and in the kernel, or receives
 * there: it has done with some of its messages, and leaves it at that.
 */
static void rest(int to, int from)
{
	static const struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	static const sa_family_t un = AF_UNIX;
	static long (*const receives[2])(void *) = { receives_whole,
						     receives_in_time };
	enum { N = 4 };
	struct t_call c[N], got[2];
	int r[N], s[N], n[N] = { 0 }, tcp[2][2], two = 2;
	long sent;
	char b[1];

	r[0] = bound(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK, &nl, sizeof(nl));
	r[1] = bound(AF_UNIX, SOCK_DGRAM, 0, &un, sizeof(un));
	r[2] = r[3] = bound(AF_UNIX, SOCK_DGRAM, 0, &un, sizeof(un));
	for (int i = 0; i < N; i++) {
		s[i] = connected_to(r[i]);
		while (send(s[i], big, 2000, MSG_DONTWAIT) == 2000)
			n[i]++;
		CHECK(errno == EAGAIN);
	}
	for (int i = 0; i < N; i++)
		t_begin(&c[i], sends_many, &s[i]);
	for (int i = 0; i < 2; i++) {
		t_tcp_pair(tcp[i]);
		CHECK_0(setsockopt(tcp[i][0], SOL_SOCKET, SO_RCVLOWAT, &two,
				   sizeof(two)));
		t_put(tcp[i][1], 'a');
		t_begin(&got[i], receives[i], &tcp[i][0]);
	}
	/* Whoever has sent one stands behind who waits. */
	for (int i = 0; i < N; i++)
		while (n[i]--) {
			CHECK(recv(r[i], b, 1, 0) == 1);
			if (i == 2)
				t_waits(&c[i]);
		}
	for (int i = 0; i < N; i++)
		t_waits(&c[i]);
	be_stopped(to, from);
	for (int i = 0; i < N; i++) {
		sent = t_end(&c[i]);
		CHECK(sent > 0 && sent < REST);
		t_say("some are sent");
	}
	for (int i = 0; i < 2; i++)
		t_ended("one is received", &got[i]);
}

static long reaps(void *arg)
{
	siginfo_t info;

	return waitid(P_PIDFD, (id_t) * (int *)arg, &info, WEXITED);
}

static long reaps_group(void *arg)
{
	(void)arg;
	return waitpid(0, NULL, 0);
}

/* By a number that is nobody's, by a group that it has left: no such child. */
static void children(int to, int from)
{
	struct t_call c[2];
	int hold[2], fd;
	pid_t pid;

	t_pipe(hold);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(hold[1]);
		t_eof(hold[0]);
		_exit(0);
	}
	t_close(hold[0]);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(fd >= 0);
	t_begin(&c[0], reaps, &fd);
	t_begin(&c[1], reaps_group, NULL);
	t_close(fd);
	CHECK_0(setpgid(0, 0));
	for (int i = 0; i < 2; i++)
		t_waits(&c[i]);
	be_stopped(to, from);
	t_ended("closed", &c[0]);
	t_ended("another group", &c[1]);
	t_close(hold[1]);
	CHECK(t_wait(pid) == 0);
}

static int in_child(const char *how, int to, int from)
{
	ep = epoll_create1(0);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &usr2, NULL) == 0);
	t_handle(SIGPIPE, SIG_IGN, 0);
	if (!strcmp(how, "on"))
		on(to, from);
	else if (!strcmp(how, "moved"))
		moved(to, from);
	else if (!strcmp(how, "changed"))
		changed(to, from);
	else if (!strcmp(how, "behind"))
		behind(to, from);
	else if (!strcmp(how, "messages"))
		messages(to, from);
	else if (!strcmp(how, "rest"))
		rest(to, from);
	else if (!strcmp(how, "words"))
		words(to, from);
	else if (!strcmp(how, "children"))
		children(to, from);
	else
		ended(to, from);
	return 0;
}

int main(int argc, char **argv)
{
	int up[2], down[2], st;
	pid_t pid;

	t_pipe(up);
	t_pipe(down);
	sem = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(sem >= 0 && queue >= 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(in_child(argc > 1 ? argv[1] : "", up[1], down[0]));
	t_get(up[0]);
	t_rested(pid);
	CHECK(kill(pid, SIGSTOP) == 0);
	CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
	CHECK(kill(pid, SIGCONT) == 0);
	t_put(down[1], 'c');
	st = t_wait(pid);
	semctl(sem, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	CHECK(WIFEXITED(st));
	return WEXITSTATUS(st);
}
