/* Steps that make descriptors, or change what they are. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include "io.h"

/* pair A B stream|dgram|seqpacket */
static void op_pair(struct fz_call *c)
{
	int fd[2], type = SOCK_STREAM;

	if (fz_has(c, "dgram"))
		type = SOCK_DGRAM;
	if (fz_has(c, "seqpacket"))
		type = SOCK_SEQPACKET;
	fz_two(c, socketpair(AF_UNIX, type, 0, fd), fd);
}

static int inet(int type, int backlog)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    (backlog >= 0 && listen(fd, backlog)))
		return -1;
	return fd;
}

static int join(int fd, int to)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	return getsockname(to, (struct sockaddr *)&a, &len) ||
			       connect(fd, (struct sockaddr *)&a, len) ?
		       -1 :
		       0;
}

/* tcp A B: both ends of a connection */
static void op_tcp(struct fz_call *c)
{
	int l = inet(SOCK_STREAM, 1), fd[2], on = 1;
	long r = -1;

	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (l >= 0 && fd[0] >= 0 && !join(fd[0], l)) {
		fd[1] = accept(l, NULL, NULL);
		r = fd[1] < 0 ? -1 : 0;
		/* What is sent is there when the step ends. */
		setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	close(l);
	fz_two(c, r, fd);
}

/* udppair A B: connected to each other; udp A: bound, not connected */
static void op_udppair(struct fz_call *c)
{
	int fd[2] = { inet(SOCK_DGRAM, -1), inet(SOCK_DGRAM, -1) };

	fz_two(c, join(fd[0], fd[1]) || join(fd[1], fd[0]) ? -1 : 0, fd);
}

/*
 * raw A B: packets of a protocol for experiments, between addresses that no
 * other play has
 */
static void op_raw(struct fz_call *c)
{
	static uint32_t pairs;
	struct sockaddr_in a[2];
	int fd[2];
	long r = 0;

	for (int i = 0; i < 2; i++)
		a[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_addr.s_addr =
				htonl(0x7f000000u |
				      ((uint32_t)getpid() & 0xffff) << 8 |
				      (2 * pairs % 250 + 2 + (uint32_t)i)),
		};
	pairs++;
	for (int i = 0; i < 2; i++) {
		fd[i] = socket(AF_INET, SOCK_RAW, 253);
		if (fd[i] < 0 ||
		    bind(fd[i], (struct sockaddr *)&a[i], sizeof(a[i])) ||
		    connect(fd[i], (struct sockaddr *)&a[!i], sizeof(a[i])))
			r = -1;
	}
	fz_two(c, r, fd);
}

/* mptcp A B: both ends of a connection */
static void op_mptcp(struct fz_call *c)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int l = socket(AF_INET, SOCK_STREAM, 262), fd[2];
	long r = -1;

	fd[0] = socket(AF_INET, SOCK_STREAM, 262);
	if (l >= 0 && !bind(l, (struct sockaddr *)&a, sizeof(a)) &&
	    !listen(l, 1) && !join(fd[0], l)) {
		fd[1] = accept(l, NULL, NULL);
		r = fd[1] < 0 ? -1 : 0;
	}
	close(l);
	fz_two(c, r, fd);
}

/* udplost A: connected to where nobody is; unixdgram A: bound */
static void op_udplost(struct fz_call *c)
{
	int to = inet(SOCK_DGRAM, -1), fd = inet(SOCK_DGRAM, -1);
	long r = join(fd, to);

	close(to);
	fz_one(c, 1, r ? -1 : fd);
}

static int unix_bound(int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	/* An abstract name that the kernel chooses. */
	return bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)) ? -1 : fd;
}

static void op_unixdgram(struct fz_call *c)
{
	fz_one(c, 1, unix_bound(SOCK_DGRAM));
}

/* seqlisten A BACKLOG; seqsock A */
static void op_seqlisten(struct fz_call *c)
{
	int fd = unix_bound(SOCK_SEQPACKET);

	if (fd < 0 || listen(fd, (int)fz_num(c, 2)))
		fz_ret(c, -1);
	else
		fz_one(c, 1, fd);
}

static void op_seqsock(struct fz_call *c)
{
	fz_one(c, 1, socket(AF_UNIX, SOCK_SEQPACKET, 0));
}

static void op_udp(struct fz_call *c)
{
	fz_one(c, 1, inet(SOCK_DGRAM, -1));
}

/* tcplisten A BACKLOG, unixlisten A BACKLOG; tcpsock A, unixsock A */
static void op_tcplisten(struct fz_call *c)
{
	fz_one(c, 1, inet(SOCK_STREAM, (int)fz_num(c, 2)));
}

static void op_unixlisten(struct fz_call *c)
{
	int fd = unix_bound(SOCK_STREAM);

	if (fd < 0 || listen(fd, (int)fz_num(c, 2)))
		fz_ret(c, -1);
	else
		fz_one(c, 1, fd);
}

static void op_tcpsock(struct fz_call *c)
{
	fz_one(c, 1, socket(AF_INET, SOCK_STREAM, 0));
}

static void op_unixsock(struct fz_call *c)
{
	fz_one(c, 1, socket(AF_UNIX, SOCK_STREAM, 0));
}

/* pipe A B [packet] */
static void op_pipe(struct fz_call *c)
{
	int fd[2];

	fz_two(c, pipe2(fd, fz_has(c, "packet") ? O_DIRECT : 0), fd);
}

/* fifo A r|w|rw [nonblock]: the one FIFO that there is */
static void op_fifo(struct fz_call *c)
{
	int flags = fz_has(c, "rw") ? O_RDWR :
		    fz_has(c, "w")  ? O_WRONLY :
				      O_RDONLY;
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	if (mkfifo(path, 0600) && errno != EEXIST)
		fz_ret(c, -1);
	else
		fz_one(c, 1,
		       open(path,
			    flags | (fz_has(c, "nonblock") ? O_NONBLOCK : 0)));
}

/* unlink: its name; perm MODE: its rights */
static void op_unlink(struct fz_call *c)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	fz_ret(c, unlink(path));
}

static void op_perm(struct fz_call *c)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	fz_ret(c, chmod(path, (mode_t)strtol(c->w[1], NULL, 8)));
}

static int mode(int fd, bool raw, int vmin, int vtime)
{
	struct termios t;

	if (tcgetattr(fd, &t))
		return -1;
	if (raw)
		cfmakeraw(&t);
	t.c_cc[VMIN] = (cc_t)vmin;
	t.c_cc[VTIME] = (cc_t)vtime;
	return tcsetattr(fd, TCSANOW, &t);
}

/* pty A B [raw]: A is the master. mode A VMIN VTIME: raw, and that */
static void op_pty(struct fz_call *c)
{
	int fd[2];
	long r = openpty(&fd[0], &fd[1], NULL, NULL, NULL);

	if (!r && fz_has(c, "raw"))
		r = mode(fd[1], true, 1, 0);
	fz_two(c, r, fd);
}

static void op_mode(struct fz_call *c)
{
	fz_ret(c,
	       mode(fz_fd(c, 1), true, (int)fz_num(c, 2), (int)fz_num(c, 3)));
}

/* ptsopen A B r|w|rw: another descriptor of master A's slave */
static void op_ptsopen(struct fz_call *c)
{
	char name[64];
	int flags = fz_has(c, "rw") ? O_RDWR :
		    fz_has(c, "w")  ? O_WRONLY :
				      O_RDONLY;

	if (ptsname_r(fz_fd(c, 1), name, sizeof(name))) {
		errno = ENOTTY;
		fz_ret(c, -1);
	} else {
		fz_one(c, 2, open(name, flags | O_NOCTTY));
	}
}

/* tostop A: who is in the background may not write */
static void op_tostop(struct fz_call *c)
{
	struct termios t;
	int fd = fz_fd(c, 1);

	if (tcgetattr(fd, &t)) {
		fz_ret(c, -1);
		return;
	}
	t.c_lflag |= TOSTOP;
	fz_ret(c, tcsetattr(fd, TCSANOW, &t));
}

/* eventfd A N [sem] */
static void op_eventfd(struct fz_call *c)
{
	fz_one(c, 1,
	       eventfd((unsigned)fz_num(c, 2),
		       fz_has(c, "sem") ? EFD_SEMAPHORE : 0));
}

/* timerfd A; timerset A NNNms [every] */
static void op_timerfd(struct fz_call *c)
{
	fz_one(c, 1, timerfd_create(CLOCK_MONOTONIC, 0));
}

static void op_timerset(struct fz_call *c)
{
	struct itimerspec t = { 0 };
	long ms = fz_ms(c);

	t.it_value.tv_sec = ms / 1000;
	t.it_value.tv_nsec = ms % 1000 * 1000000;
	if (fz_has(c, "every"))
		t.it_interval = t.it_value;
	fz_ret(c, timerfd_settime(fz_fd(c, 1), 0, &t, NULL));
}

/* signalfd A SIGNAL */
static void op_signalfd(struct fz_call *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, fz_signal(c->w[2]));
	fz_one(c, 1, signalfd(-1, &set, 0));
}

/* memfd A N: a file of N bytes, at its beginning */
static void op_memfd(struct fz_call *c)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	long n = fz_num(c, 2);
	char *b = fz_buffer(c, (size_t)n + 1);

	memset(b, 'a' + c->step % 26, (size_t)n);
	if (fd >= 0 && pwrite(fd, b, (size_t)n, 0) != n)
		fz_say(c, "short ");
	fz_one(c, 1, fd);
}

/* A file that is written to by B, and has no name any more when @watch has seen it. */
static void watched(struct fz_call *c, int (*watch)(const char *path))
{
	char path[80];
	int fd[2];

	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	fd[1] = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	fd[0] = watch(path);
	unlink(path);
	fz_two(c, fd[0] < 0 || fd[1] < 0 ? -1 : 0, fd);
}

/* inotify A B, fanotify A B: A tells when B is written to */
static int inotify(const char *path)
{
	int fd = inotify_init1(0);

	return inotify_add_watch(fd, path, IN_MODIFY) < 0 ? -1 : fd;
}

static void op_inotify(struct fz_call *c)
{
	watched(c, inotify);
}

static int fanotify(const char *path)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);

	return fanotify_mark(fd, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, path) ?
		       -1 :
		       fd;
}

static void op_fanotify(struct fz_call *c)
{
	watched(c, fanotify);
}

/* pidfd A ACTOR: of a child */
static void op_pidfd(struct fz_call *c)
{
	int k = (int)fz_num(c, 2);

	fz_one(c, 1,
	       k < FZ_THREADS || k >= FZ_ACTORS || !fz_shared->slot[k].pid ?
		       -1 :
		       (int)syscall(SYS_pidfd_open, fz_shared->slot[k].pid, 0));
}

/* reopen A B: the same file, opened once more */
static void op_reopen(struct fz_call *c)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fz_fd(c, 1));
	fz_one(c, 2, open(path, O_RDWR));
}

/* dup A B; dup2 A B: B's number is A's file then; dupat A B N */
static void op_dup(struct fz_call *c)
{
	fz_one(c, 2, dup(fz_fd(c, 1)));
}

static void op_dup2(struct fz_call *c)
{
	fz_ret(c, dup2(fz_fd(c, 1), fz_fd(c, 2)));
}

/* dupfd A B N: by F_DUPFD, from N on; dup3 A B */
static void op_dupfd(struct fz_call *c)
{
	fz_one(c, 2, fcntl(fz_fd(c, 1), F_DUPFD, (int)fz_num(c, 3)));
}

static void op_dup3(struct fz_call *c)
{
	fz_ret(c, dup3(fz_fd(c, 1), fz_fd(c, 2), O_CLOEXEC));
}

static void op_dupat(struct fz_call *c)
{
	fz_one(c, 2, dup2(fz_fd(c, 1), (int)fz_num(c, 3)));
}

/* close A: the letter keeps the number */
static void op_close(struct fz_call *c)
{
	fz_ret(c, close(fz_fd(c, 1)));
}

/* closerange A B: all from A's number to B's */
static void op_closerange(struct fz_call *c)
{
	fz_ret(c, syscall(SYS_close_range, fz_fd(c, 1), fz_fd(c, 2), 0));
}

/* table N: no more than N descriptors, and those below N taken */
static void op_table(struct fz_call *c)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)fz_num(c, 1);
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		fz_ret(c, -1);
		return;
	}
	/* Whatever had these numbers before, they are nothing of ours now. */
	for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = dup(fd))
		;
	fz_ret(c, -1);
}

const struct fz_op fz_make_ops[] = {
	{ "pair", op_pair },
	{ "tcp", op_tcp },
	{ "udppair", op_udppair },
	{ "udp", op_udp },
	{ "raw", op_raw },
	{ "mptcp", op_mptcp },
	{ "udplost", op_udplost },
	{ "unixdgram", op_unixdgram },
	{ "seqlisten", op_seqlisten },
	{ "seqsock", op_seqsock },
	{ "inotify", op_inotify },
	{ "fanotify", op_fanotify },
	{ "pidfd", op_pidfd },
	{ "tcplisten", op_tcplisten },
	{ "unixlisten", op_unixlisten },
	{ "tcpsock", op_tcpsock },
	{ "unixsock", op_unixsock },
	{ "pipe", op_pipe },
	{ "fifo", op_fifo },
	{ "unlink", op_unlink },
	{ "perm", op_perm },
	{ "pty", op_pty },
	{ "mode", op_mode },
	{ "ptsopen", op_ptsopen },
	{ "tostop", op_tostop },
	{ "eventfd", op_eventfd },
	{ "timerfd", op_timerfd },
	{ "timerset", op_timerset },
	{ "signalfd", op_signalfd },
	{ "memfd", op_memfd },
	{ "reopen", op_reopen },
	{ "dup", op_dup },
	{ "dup2", op_dup2 },
	{ "dupat", op_dupat },
	{ "dupfd", op_dupfd },
	{ "dup3", op_dup3 },
	{ "close", op_close },
	{ "table", op_table },
	{ "closerange", op_closerange },
	{ 0 },
};
