/*
 * What is done often in a process with threads, for counting: count.py.
 *
 *	often device ROUNDS	a write to /dev/null and a read of /dev/urandom
 *	often event ROUNDS	a write to an eventfd and a read of it, with a handler
 *				for some signal
 *	often empty ROUNDS	two reads of a socket older than the first thread, which
 *				O_NONBLOCK says are not to wait
 *	often several ROUNDS	two messages by sendmmsg, and by recvmmsg, of sockets with
 *				O_NONBLOCK
 *	often relay ROUNDS	what a connection with O_NONBLOCK has, through a pipe to another
 *				one, by splice
 *	often spill ROUNDS	a file's beginning, by splice into a pipe, which is read
 *	often sleep ROUNDS	a sleep and a poll that nothing ends, in a thread that
 *				has made a child
 *	often nothing ROUNDS	a poll of no descriptor that is not to wait, and one that is
 *	often none_of ROUNDS	the same by select, of no set and of one that is empty
 *	often file ROUNDS	a file that is opened by stdio, one byte of it, its end
 *	often asked ROUNDS	the same of one that is asked about by statx
 *	often memory ROUNDS	a memory file that is made, and written
 *	often folder ROUNDS	a folder that is listed
 *	often own ROUNDS	a file of the process in /proc
 *	often masked ROUNDS	a ppoll and a pselect with a mask, which are not to wait
 *	often action ROUNDS	a handler that is set, and taken back
 *	often kill ROUNDS	a signal to the own process, and its handler
 *	often sigwait ROUNDS	a signal to another thread, which waits for it, and one
 *				back
 *	often glimpse ROUNDS	two looks for a signal that are not to wait
 *	often alarm ROUNDS	a timer's signal, which the thread that has set it waits for
 *	often nap ROUNDS	a sleep of 50 us
 *	often doze ROUNDS	a sleep of 70 ms, in which the whole process sleeps
 *	often lull ROUNDS	the same in epoll_wait, by what is older than the first thread
 *	often beside ROUNDS	a sleep of 70 ms, beside a thread that waits for a lock
 *	often awaits ROUNDS	the same, beside one that waits for a message (System V)
 *	often opens ROUNDS	the same, beside one that waits for the other end of a FIFO
 *	often clogged ROUNDS	the same, beside one that waits for room at a datagram's receiver
 *	often jammed ROUNDS	the same, for room in the socket itself, which is older than the
 *				first thread
 *	often crowd ROUNDS	a signal to the own process, which one thread takes, the last that
 *				was made; prints how many times the CPU time of it 2000 others
 *				make that do not
 *	often fork ROUNDS	a child that ends; prints the page faults of both
 *	often spawn ROUNDS	a program that ends, by posix_spawn, not hooked
 */
#include "t.h"
#include <dirent.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/un.h>

static long rounds;

static void on_term(int sig)
{
	_exit(128 + sig);
}

static void device(void)
{
	int null = open("/dev/null", O_WRONLY),
	    some = open("/dev/urandom", O_RDONLY);
	char c[16];

	CHECK(null >= 0 && some >= 0);
	for (long i = 0; i < rounds; i++)
		CHECK(write(null, "x", 1) == 1 && read(some, c, 16) == 16);
}

static void event(void)
{
	uint64_t n = 1;
	int fd;

	CHECK(signal(SIGTERM, on_term) != SIG_ERR);
	fd = eventfd(0, 0);
	CHECK(fd >= 0);
	for (long i = 0; i < rounds; i++)
		CHECK(write(fd, &n, 8) == 8 && read(fd, &n, 8) == 8);
}

static const char *name;
static int quiet[2];

static void empty(void)
{
	char c;

	CHECK(!fcntl(quiet[0], F_SETFL, O_NONBLOCK));
	for (long i = 0; i < rounds; i++) {
		CHECK_ERR(read(quiet[0], &c, 1), EAGAIN);
		CHECK_ERR(recv(quiet[0], &c, 1, 0), EAGAIN);
	}
}

static void several(void)
{
	char c[2] = "x";
	struct iovec v[2] = { { c, 1 }, { c + 1, 1 } };
	struct mmsghdr m[2] = {
		{ .msg_hdr = { .msg_iov = v, .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = v + 1, .msg_iovlen = 1 } }
	};
	int p[2];

	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, p));
	for (long i = 0; i < rounds; i++)
		CHECK(sendmmsg(p[0], m, 2, MSG_NOSIGNAL) == 2 &&
		      recvmmsg(p[1], m, 2, 0, NULL) == 2);
}

static void relay(void)
{
	int p[2], from[2], to[2];
	char c[8];

	t_tcp_pair(from);
	t_tcp_pair(to);
	CHECK(!pipe2(p, O_NONBLOCK) && !fcntl(from[1], F_SETFL, O_NONBLOCK) &&
	      !fcntl(to[0], F_SETFL, O_NONBLOCK) &&
	      !fcntl(to[1], F_SETFL, O_NONBLOCK));
	for (long i = 0; i < rounds; i++) {
		CHECK(send(from[0], "abc", 3, 0) == 3);
		CHECK(splice(from[1], NULL, p[1], NULL, 4096,
			     SPLICE_F_NONBLOCK) == 3);
		CHECK(splice(p[0], NULL, to[0], NULL, 3, SPLICE_F_NONBLOCK) ==
		      3);
		CHECK(recv(to[1], c, sizeof(c), 0) == 3);
	}
}

static void spill(void)
{
	int p[2], fd = open(name, O_RDONLY);
	char c[8];

	CHECK(fd >= 0 && !pipe(p));
	for (long i = 0; i < rounds; i++) {
		loff_t at = 0;

		CHECK(splice(fd, &at, p[1], NULL, 4, 0) == 4);
		CHECK(read(p[0], c, sizeof(c)) == 4);
	}
}

static void sleeps(void)
{
	struct timespec some = { 0, 50000 };
	struct pollfd p = { quiet[0], POLLIN, 0 };
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	t_wait_ok(pid);
	for (long i = 0; i < rounds; i++) {
		CHECK(!nanosleep(&some, NULL));
		CHECK(!poll(&p, 1, 1));
	}
}

static void nothing(void)
{
	for (long i = 0; i < rounds; i++) {
		CHECK(!poll(NULL, 0, 0));
		CHECK(!poll(NULL, 0, 1));
	}
}

static void none_of(void)
{
	fd_set set;

	FD_ZERO(&set);
	for (long i = 0; i < rounds; i++) {
		struct timeval now = { 0, 0 }, soon = { 0, 100 };

		CHECK(!select(8, NULL, NULL, NULL, &now));
		CHECK(!select(8, &set, NULL, NULL, &soon));
	}
}

static void file(void)
{
	for (long i = 0; i < rounds; i++) {
		FILE *f = fopen(name, "r");

		CHECK(f && fgetc(f) == 0x7f && !fclose(f));
	}
}

static void asked(void)
{
	struct statx x;
	char c;

	for (long i = 0; i < rounds; i++) {
		int fd = open(name, O_RDONLY);

		CHECK(fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x));
		CHECK(read(fd, &c, 1) == 1);
		t_close(fd);
	}
}

static void memory(void)
{
	for (long i = 0; i < rounds; i++) {
		int fd = memfd_create("memory", 0);

		CHECK(fd >= 0 && write(fd, "x", 1) == 1);
		t_close(fd);
	}
}

static void folder(void)
{
	char c;

	/* From when on there are records of low numbers. */
	CHECK_ERR(recv(quiet[0], &c, 1, MSG_DONTWAIT), EAGAIN);
	for (long i = 0; i < rounds; i++) {
		DIR *d = opendir("/");

		CHECK(d);
		while (readdir(d))
			;
		CHECK(!closedir(d));
	}
}

static void own(void)
{
	char c[64];

	for (long i = 0; i < rounds; i++) {
		int fd = open("/proc/self/stat", O_RDONLY);

		CHECK(fd >= 0 && read(fd, c, sizeof(c)) == sizeof(c));
		t_close(fd);
	}
}

static void masked(void)
{
	struct pollfd p = { quiet[0], POLLIN, 0 };
	struct timespec now = { 0, 0 };
	sigset_t none;
	fd_set set;

	sigemptyset(&none);
	for (long i = 0; i < rounds; i++) {
		FD_ZERO(&set);
		FD_SET(quiet[0], &set);
		CHECK(!ppoll(&p, 1, &now, &none));
		CHECK(!pselect(quiet[0] + 1, &set, NULL, NULL, &now, &none));
	}
}

static void none(int sig __attribute__((unused)))
{
}

static void action(void)
{
	for (long i = 0; i < rounds; i++)
		CHECK(signal(SIGUSR1, none) == SIG_DFL &&
		      signal(SIGUSR1, SIG_DFL) == none);
}

static void own_signal(void)
{
	CHECK(signal(SIGUSR1, none) != SIG_ERR);
	for (long i = 0; i < rounds; i++)
		CHECK(!kill(getpid(), SIGUSR1));
}

static sigset_t usr1;

static void await_signal(void)
{
	int sig;

	CHECK(!sigwait(&usr1, &sig) && sig == SIGUSR1);
}

static void *answer(void *arg)
{
	for (long i = 0; i < rounds; i++) {
		await_signal();
		CHECK(!pthread_kill(*(pthread_t *)arg, SIGUSR1));
	}
	return NULL;
}

static void signals(void)
{
	pthread_t self = pthread_self(), other;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	other = t_thread(answer, &self);
	for (long i = 0; i < rounds; i++) {
		CHECK(!pthread_kill(other, SIGUSR1));
		await_signal();
	}
	t_join(other);
}

static void glimpses(void)
{
	struct timespec now = { 0, 0 };

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	for (long i = 0; i < rounds; i++) {
		CHECK_ERR(sigtimedwait(&usr1, NULL, &now), EAGAIN);
		CHECK_ERR(sigtimedwait(&usr1, NULL, &now), EAGAIN);
	}
}

static void alarms(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 1000 } };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (long i = 0; i < rounds; i++) {
		CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
		CHECK(!sigwait(&set, &sig) && sig == SIGALRM);
	}
}

static void nap(void)
{
	struct timespec some = { 0, 50000 };

	for (long i = 0; i < rounds; i++)
		CHECK(!nanosleep(&some, NULL));
}

static void doze(void)
{
	struct timespec some = { 0, 70000000 };

	for (long i = 0; i < rounds; i++)
		CHECK(!nanosleep(&some, NULL));
}

static int loop;

static void lull(void)
{
	struct epoll_event ev;

	for (long i = 0; i < rounds; i++)
		CHECK(!epoll_wait(loop, &ev, 1, 70));
}

static void *lock(void *fd)
{
	flock(*(int *)fd, LOCK_EX);
	return NULL;
}

static void beside(void)
{
	char path[64];
	int fd = memfd_create("lock", 0), other;

	CHECK(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR);
	CHECK(other >= 0);
	CHECK_0(flock(fd, LOCK_EX));
	t_thread(lock, &other);
	doze();
}

static void *awaits_one(void *id)
{
	struct {
		long type;
		char text[8];
	} m;

	CHECK(msgrcv(*(int *)id, &m, sizeof(m.text), 0, 0) < 0 &&
	      errno == EIDRM);
	return NULL;
}

static void awaits(void)
{
	int id = msgget(IPC_PRIVATE, 0600);
	pthread_t th;

	CHECK(id >= 0);
	th = t_thread(awaits_one, &id);
	doze();
	CHECK_0(msgctl(id, IPC_RMID, NULL));
	t_join(th);
}

static void *open_one(void *path)
{
	open(path, O_RDONLY);
	return NULL;
}

static void opens(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/often.%d", getpid());
	CHECK_0(mkfifo(path, 0600));
	t_thread(open_one, path);
	doze();
	CHECK_0(unlink(path));
}

static void *send_one(void *fd)
{
	send(*(int *)fd, "", 1, 0);
	return NULL;
}

static void send_beside(int *fd)
{
	while (send(*fd, "", 1, MSG_DONTWAIT) == 1)
		;
	CHECK(errno == EAGAIN);
	t_thread(send_one, fd);
	doze();
}

/* Connected one way: its own buffer has room, and the receiver has none. */
static void clogged(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(at);
	int to = socket(AF_UNIX, SOCK_DGRAM, 0);
	int from = socket(AF_UNIX, SOCK_DGRAM, 0);

	CHECK_0(bind(to, (void *)&at, sizeof(sa_family_t)));
	CHECK_0(getsockname(to, (void *)&at, &len));
	CHECK_0(connect(from, (void *)&at, len));
	send_beside(&from);
}

static int packets[2];

static void jammed(void)
{
	send_beside(&packets[0]);
}

static long cpu_ns(void)
{
	struct timespec ts;

	CHECK(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts));
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

/* The least of some: others have the processor in between. */
static void *take_signals(void *least)
{
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
	for (int i = 0; i < 10; i++) {
		long began = cpu_ns(), took;

		own_signal();
		took = cpu_ns() - began;
		if (!i || took < *(long *)least)
			*(long *)least = took;
	}
	return NULL;
}

static void *stand_by(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void crowd(void)
{
	pthread_attr_t small;
	pthread_t th;
	long few, many;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	t_join(t_thread(take_signals, &few));
	CHECK_0(pthread_attr_init(&small));
	CHECK_0(pthread_attr_setstacksize(&small, 65536));
	for (int i = 0; i < 2000; i++)
		CHECK_0(pthread_create(&th, &small, stand_by, NULL));
	t_join(t_thread(take_signals, &many));
	t_say("%.1f", (double)many / (double)few);
	_exit(0);
}

static long faults(void)
{
	struct rusage own, children;

	CHECK(!getrusage(RUSAGE_SELF, &own));
	CHECK(!getrusage(RUSAGE_CHILDREN, &children));
	return own.ru_minflt + children.ru_minflt;
}

static void forks(void)
{
	long before = faults();

	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(0);
		t_wait_ok(pid);
	}
	t_say("%ld", (faults() - before) / rounds);
}

static void spawns(void)
{
	char *argv[] = { "true", NULL }, *env[] = { NULL };

	for (long i = 0; i < rounds; i++) {
		pid_t pid;

		CHECK_0(posix_spawnp(&pid, argv[0], NULL, NULL, argv, env));
		t_wait_ok(pid);
	}
}

static const struct {
	const char *name;
	void (*make)(void);
} all[] = {
	{ "device", device },	{ "event", event },	 { "empty", empty },
	{ "sleep", sleeps },	{ "nothing", nothing },	 { "none_of", none_of },
	{ "file", file },	{ "folder", folder },	 { "own", own },
	{ "masked", masked },	{ "action", action },	 { "kill", own_signal },
	{ "sigwait", signals }, { "glimpse", glimpses }, { "alarm", alarms },
	{ "nap", nap },		{ "doze", doze },	 { "crowd", crowd },
	{ "fork", forks },	{ "spawn", spawns },	 { "several", several },
	{ "relay", relay },	{ "asked", asked },	 { "memory", memory },
	{ "spill", spill },	{ "lull", lull },	 { "beside", beside },
	{ "awaits", awaits },	{ "opens", opens },	 { "clogged", clogged },
	{ "jammed", jammed },
};

int main(int argc, char **argv)
{
	int i = 0;

	CHECK(argc == 3);
	rounds = atol(argv[2]);
	CHECK(rounds > 0);
	name = argv[0];
	while (strcmp(all[i].name, argv[1]))
		CHECK(++i < (int)T_LEN(all));
	t_pair(quiet);
	CHECK_0(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets));
	loop = epoll_create1(0);
	CHECK_0(epoll_ctl(loop, EPOLL_CTL_ADD, quiet[0],
			  &(struct epoll_event){ .events = EPOLLIN }));
	t_be_threaded();
	all[i].make();
	return 0;
}
