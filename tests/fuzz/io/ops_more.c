/* Steps of what programs do less often: other kinds of files, other ways to begin. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

/* A socket of @family that is bound, by a name that the kernel chooses. */
static int bound(int family, int type, int protocol)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr any = { .sa_family = (sa_family_t)family };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	struct sockaddr *a = family == AF_INET6	  ? (struct sockaddr *)&six :
			     family == AF_NETLINK ? (struct sockaddr *)&nl :
						    &any;
	socklen_t len = family == AF_INET6   ? sizeof(six) :
			family == AF_NETLINK ? sizeof(nl) :
					       sizeof(sa_family_t);
	int fd = socket(family, type, protocol);

	return fd < 0 || bind(fd, a, len) ? -1 : fd;
}

static int join(int fd, int to)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	return getsockname(to, (struct sockaddr *)&a, &len) ||
			       connect(fd, (struct sockaddr *)&a, len) ?
		       -1 :
		       0;
}

/* Both ends of a connection by a listener. */
static void connection(struct fz_call *c, int family)
{
	int l = bound(family, SOCK_STREAM, 0), fd[2], on = 1;
	long r = -1;

	fd[0] = socket(family, SOCK_STREAM, 0);
	if (l >= 0 && !listen(l, 1) && !join(fd[0], l)) {
		fd[1] = accept(l, NULL, NULL);
		r = fd[1] < 0 ? -1 : 0;
		if (family == AF_INET6)
			for (int i = 0; i < 2; i++)
				setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &on,
					   sizeof(on));
	}
	close(l);
	fz_two(c, r, fd);
}

/* tcp6 A B, unixconn A B */
static void op_tcp6(struct fz_call *c)
{
	connection(c, AF_INET6);
}

static void op_unixconn(struct fz_call *c)
{
	connection(c, AF_UNIX);
}

/* udp6pair A B, netlink A B: connected to each other */
static void op_udp6pair(struct fz_call *c)
{
	int fd[2] = { bound(AF_INET6, SOCK_DGRAM, 0),
		      bound(AF_INET6, SOCK_DGRAM, 0) };

	fz_two(c, join(fd[0], fd[1]) || join(fd[1], fd[0]) ? -1 : 0, fd);
}

static void op_netlink(struct fz_call *c)
{
	int fd[2] = { bound(AF_NETLINK, SOCK_DGRAM, NETLINK_USERSOCK),
		      bound(AF_NETLINK, SOCK_DGRAM, NETLINK_USERSOCK) };

	fz_two(c, join(fd[0], fd[1]) || join(fd[1], fd[0]) ? -1 : 0, fd);
}

/* device A null|zero|full|random|dir|mounts [path]: path is O_PATH */
static void op_device(struct fz_call *c)
{
	const char *path = fz_has(c, "zero")   ? "/dev/zero" :
			   fz_has(c, "full")   ? "/dev/full" :
			   fz_has(c, "random") ? "/dev/urandom" :
			   fz_has(c, "dir")    ? "/" :
			   fz_has(c, "mounts") ? "/proc/self/mounts" :
						 "/dev/null";

	fz_one(c, 1,
	       open(path, fz_has(c, "path")			  ? O_PATH :
			  fz_has(c, "dir") || fz_has(c, "mounts") ? O_RDONLY :
								    O_RDWR));
}

/* reopened A B r|w|rw [nonblock] [append]: the same file, opened once more */
static void op_reopened(struct fz_call *c)
{
	int flags = fz_has(c, "rw") ? O_RDWR :
		    fz_has(c, "w")  ? O_WRONLY :
				      O_RDONLY;
	char path[32];

	if (fz_has(c, "nonblock"))
		flags |= O_NONBLOCK;
	if (fz_has(c, "append"))
		flags |= O_APPEND;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fz_fd(c, 1));
	fz_one(c, 2, open(path, flags));
}

/* copyrange FROM TO N [fromat] [toat] */
static void op_copyrange(struct fz_call *c)
{
	off_t from = 0, to = 0;

	fz_ret(c,
	       copy_file_range(fz_fd(c, 1), fz_has(c, "fromat") ? &from : NULL,
			       fz_fd(c, 2), fz_has(c, "toat") ? &to : NULL,
			       (size_t)fz_num(c, 3), 0));
}

/* readat A N OFFSET FLAGS, writeat A N OFFSET FLAGS: preadv2, pwritev2 */
static void op_readat(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	struct iovec v = { fz_buffer(c, n + 1), n };
	int fd = fz_fd(c, 1);
	long r = preadv2(fd, &v, 1, fz_num(c, 3), (int)fz_flags(c, 4));

	fz_ret(c, r);
	fz_data(c, fd, v.iov_base, r);
}

static void op_writeat(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	struct iovec v = { fz_buffer(c, n + 1), n };

	memset(v.iov_base, 'a' + c->step % 26, n);
	fz_ret(c,
	       pwritev2(fz_fd(c, 1), &v, 1, fz_num(c, 3), (int)fz_flags(c, 4)));
}

/* seek A N [cur|end]; cut A N: ftruncate(); room A N: F_GETPIPE_SZ */
static void op_seek(struct fz_call *c)
{
	fz_ret(c, lseek(fz_fd(c, 1), fz_num(c, 2),
			fz_has(c, "cur") ? SEEK_CUR :
			fz_has(c, "end") ? SEEK_END :
					   SEEK_SET));
}

static void op_cut(struct fz_call *c)
{
	fz_ret(c, ftruncate(fz_fd(c, 1), fz_num(c, 2)));
}

static void op_room(struct fz_call *c)
{
	fz_ret(c, fcntl(fz_fd(c, 1), F_GETPIPE_SZ));
}

/* fsize N: the largest file, RLIMIT_FSIZE */
static void op_fsize(struct fz_call *c)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = (rlim_t)fz_num(c, 1);
	fz_ret(c, setrlimit(RLIMIT_FSIZE, &l));
}

/* setsig A SIGNAL: what O_ASYNC sends for A; lease A rd|wr|un */
static void op_setsig(struct fz_call *c)
{
	fz_ret(c, fcntl(fz_fd(c, 1), F_SETSIG, fz_signal(c->w[2])));
}

static void op_lease(struct fz_call *c)
{
	fz_ret(c, fcntl(fz_fd(c, 1), F_SETLEASE,
			fz_has(c, "rd") ? F_RDLCK :
			fz_has(c, "wr") ? F_WRLCK :
					  F_UNLCK));
}

/* getlk A ex|sh START LEN [ofd]: who has it? */
static void op_getlk(struct fz_call *c)
{
	struct flock l = { .l_type = fz_has(c, "sh") ? F_RDLCK : F_WRLCK,
			   .l_start = fz_num(c, 3),
			   .l_len = fz_num(c, 4) };

	if (fcntl(fz_fd(c, 1), fz_has(c, "ofd") ? F_OFD_GETLK : F_GETLK, &l))
		fz_ret(c, -1);
	else
		fz_say(c, "%d %ld %ld", l.l_type,
		       l.l_type == F_UNLCK ? 0 : (long)l.l_start,
		       l.l_type == F_UNLCK ? 0 : (long)l.l_len);
}

/* unwatch A: of an inotify descriptor; getfd P A B: B is A of the process of pidfd P */
static void op_unwatch(struct fz_call *c)
{
	fz_ret(c, inotify_rm_watch(fz_fd(c, 1), 1));
}

static void op_getfd(struct fz_call *c)
{
	fz_one(c, 3,
	       (int)syscall(SYS_pidfd_getfd, fz_fd(c, 1), fz_fd(c, 2), 0));
}

/* timerabs A NNNms [real]: by an absolute time */
static void op_timerabs(struct fz_call *c)
{
	struct itimerspec t = { 0 };
	long ms = fz_ms(c);

	clock_gettime(CLOCK_MONOTONIC, &t.it_value);
	t.it_value.tv_nsec += ms % 1000 * 1000000;
	t.it_value.tv_sec += ms / 1000 + t.it_value.tv_nsec / 1000000000;
	t.it_value.tv_nsec %= 1000000000;
	fz_ret(c, timerfd_settime(fz_fd(c, 1), TFD_TIMER_ABSTIME, &t, NULL));
}

/* alarm NNNms: SIGALRM then; pause */
static void op_alarm(struct fz_call *c)
{
	long ms = fz_ms(c);
	struct itimerval t = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	fz_ret(c, setitimer(ITIMER_REAL, &t, NULL));
}

static void op_pause(struct fz_call *c)
{
	fz_ret(c, pause());
}

/* shows A SIGNAL: signalfd A has that one alone from now on */
static void op_shows(struct fz_call *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, fz_signal(c->w[2]));
	fz_ret(c, signalfd(fz_fd(c, 1), &set, 0));
}

/* queue SIGNAL N: to the own process, with a number; queued A: who says what */
static void op_queue(struct fz_call *c)
{
	fz_ret(c, sigqueue(getpid(), fz_signal(c->w[1]),
			   (union sigval){ .sival_int = (int)fz_num(c, 2) }));
}

static void op_shown(struct fz_call *c)
{
	struct signalfd_siginfo si[2];
	long r = read(fz_fd(c, 1), si, sizeof(si));

	fz_ret(c, r);
	for (long i = 0; i < r / (long)sizeof(*si); i++)
		fz_say(c, " [%u %d]", si[i].ssi_signo,
		       si[i].ssi_code == SI_QUEUE ? si[i].ssi_int : 0);
}

/* What the kernel does meanwhile: aio A N [poll|write], aiowait N [NNNms] */
static aio_context_t aio;
static struct iocb blocks[8];
static int nblocks;

static void op_aio(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2) % 64;
	struct iocb *b = &blocks[nblocks++ % 8];
	static char room[8][64];

	if (!aio && syscall(SYS_io_setup, 8, &aio)) {
		fz_ret(c, -1);
		return;
	}
	*b = (struct iocb){ .aio_data = (uint64_t)c->step,
			    .aio_lio_opcode =
				    fz_has(c, "poll")  ? IOCB_CMD_POLL :
				    fz_has(c, "write") ? IOCB_CMD_PWRITE :
							 IOCB_CMD_PREAD,
			    .aio_fildes = (uint32_t)fz_fd(c, 1),
			    .aio_buf = (uint64_t)(uintptr_t)room[b - blocks],
			    .aio_nbytes = n };
	if (fz_has(c, "poll"))
		b->aio_buf = (uint64_t)(n & 1 ? POLLIN : POLLOUT);
	if (fz_has(c, "write"))
		memset(room[b - blocks], 'a' + c->step % 26, n);
	fz_ret(c, syscall(SYS_io_submit, aio, 1, &b));
}

static void op_aiowait(struct fz_call *c)
{
	struct io_event e[4];
	long ms = fz_ms(c), n = fz_num(c, 1) % 5, r;
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	r = syscall(SYS_io_getevents, aio, n, 4, e, ms < 0 ? NULL : &ts);
	fz_ret(c, r);
	for (long i = 0; i < r; i++)
		fz_say(c, " [%llu %lld]", (unsigned long long)e[i].data,
		       (long long)e[i].res);
}

/*
 * exec: the caller goes on in a new program, alone of its process, with the
 * descriptors that stay open; spawn ACTOR: such a child
 */
static char **again(int self, bool answers)
{
	static char text[3][16], files[26 * 8];
	static char *argv[] = {
		"play", "--again", text[0], text[1], files, NULL
	};
	size_t at = 0;

	snprintf(text[0], sizeof(text[0]), "%d", self);
	snprintf(text[1], sizeof(text[1]), "%d", answers);
	for (int i = 0; i < 26; i++)
		at += (size_t)snprintf(files + at, sizeof(files) - at, "%d ",
				       fz_file(i));
	return argv;
}

static void op_exec(struct fz_call *c)
{
	execv("/proc/self/exe", again(c->self, true));
	fz_ret(c, -1);
}

static void op_spawn(struct fz_call *c)
{
	int child = fz_new_actor(c);
	pid_t pid;

	if (child < 0)
		return;
	errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL,
			    again(child, false), environ);
	if (errno) {
		fz_ret(c, -1);
		return;
	}
	fz_shared->slot[child].pid = pid;
	fz_say(c, "ok");
}

const struct fz_op fz_more_ops[] = {
	{ "tcp6", op_tcp6 },
	{ "unixconn", op_unixconn },
	{ "udp6pair", op_udp6pair },
	{ "netlink", op_netlink },
	{ "device", op_device },
	{ "reopened", op_reopened },
	{ "copyrange", op_copyrange },
	{ "readat", op_readat },
	{ "writeat", op_writeat },
	{ "seek", op_seek },
	{ "cut", op_cut },
	{ "room", op_room },
	{ "fsize", op_fsize },
	{ "setsig", op_setsig },
	{ "lease", op_lease },
	{ "getlk", op_getlk },
	{ "unwatch", op_unwatch },
	{ "getfd", op_getfd },
	{ "timerabs", op_timerabs },
	{ "alarm", op_alarm },
	{ "pause", op_pause },
	{ "shows", op_shows },
	{ "queue", op_queue },
	{ "shown", op_shown },
	{ "aio", op_aio },
	{ "aiowait", op_aiowait },
	{ "exec", op_exec },
	{ "spawn", op_spawn },
	{ 0 },
};
