/*
 * Kernel threads that 1000 threads hold which wait in one call: natively one
 * each, hooked no more than there are workers, and 8. When the last thread is
 * about to make its call, whoever came before has a kernel thread if that call
 * needs one, since others run.
 *
 * t-case: read
 * t-case: sendfile
 * t-case: sendfile_pipe
 * t-case: splice_in
 * t-case: splice_out
 * t-case: splice_pipes
 * t-case: splice_tcp
 * t-case: tee
 * t-case: vmsplice
 * t-case: preadv2
 * t-case: pwritev2
 * t-case: recvmmsg
 * t-case: recvmmsg_limit
 * t-case: connect
 * t-case: connect_abstract
 * t-case: datagram
 * t-case: datagram_named
 * t-case: wait_any
 * t-case: waitid_any
 * t-case: mq_receive
 * t-case: mq_send
 * t-case: select
 * t-case: flock
 * t-case: fcntl
 * t-case: fcntl_ofd
 * t-case: futex
 * t-case: futex_limit
 * t-case: semaphore
 */
#include "t.h"
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

enum { N = 1000, BIG = 4 << 20 };

static int in[2], out[2]; /* pipes, or what a case has in their place */
static int file;
static int ready, done;
static char big[BIG];

static void fill(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK(fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0);
	while (write(fd, big, 65536) > 0)
		;
	while (write(fd, big, 1) > 0)
		;
	CHECK(fcntl(fd, F_SETFL, fl) == 0);
}

/* Whoever reads all that comes, until it ends. */
static void *drain(void *arg)
{
	static char b[65536];

	while (read(*(int *)arg, b, sizeof(b)) > 0)
		;
	return arg;
}

static void setup_pipes(void)
{
	t_pipe(in);
	t_pipe(out);
}

static void setup_full(void)
{
	setup_pipes();
	fill(out[1]);
}

/* The output is a stream that is full. */
static void setup_stream(void)
{
	t_pipe(in);
	t_pair(out);
	fill(out[1]);
}

static void setup_tcp(void)
{
	t_tcp_pair(in);
	t_pipe(out);
}

static void feed(void)
{
	t_write(in[1], big, N);
}

static long call_read(void)
{
	char c;

	return read(in[0], &c, 1);
}

static long call_sendfile(void)
{
	off_t at = 0;

	return sendfile(out[1], file, &at, 10);
}

static long call_splice_in(void)
{
	return splice(in[0], NULL, file, NULL, 1, 0);
}

static long call_splice(void)
{
	return splice(in[0], NULL, out[1], NULL, 1, 0);
}

static long call_tee(void)
{
	long r;

	/* 0: another one has taken the room since this one waited, link_pipe() */
	do
		r = tee(in[0], out[1], 1, 0);
	while (r == 0);
	return r;
}

static long call_vmsplice(void)
{
	struct iovec v = { big, 1 };

	return vmsplice(out[1], &v, 1, 0);
}

static long call_preadv2(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return preadv2(in[0], &v, 1, -1, 0);
}

static long call_pwritev2(void)
{
	struct iovec v = { big, 10 };

	return pwritev2(out[1], &v, 1, -1, 0);
}

/* --- datagrams ------------------------------------------------------------- */

static void setup_udp(void)
{
	struct sockaddr_in a;
	int port;

	in[0] = t_bound(SOCK_DGRAM, &port);
	in[1] = socket(AF_INET, SOCK_DGRAM, 0);
	a = t_addr(port);
	CHECK(connect(in[1], (struct sockaddr *)&a, sizeof(a)) == 0);
}

static long call_recvmmsg(void)
{
	char c[2];
	struct iovec v[2] = { { &c[0], 1 }, { &c[1], 1 } };
	struct mmsghdr m[2];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(in[0], m, 2, 0, NULL);
}

static long call_recvmmsg_limit(void)
{
	struct timespec none = { 0, 0 };
	char c;
	struct iovec v = { &c, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };

	return recvmmsg(in[0], &m, 1, 0, &none);
}

/* One at a time, lest some be dropped. */
static void feed_datagrams(void)
{
	int unread = 0, sent = 0;

	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < N) {
		CHECK(ioctl(in[0], FIONREAD, &unread) == 0);
		if (!unread && sent < 2 * N) {
			t_put(in[1], 'x');
			sent++;
		}
		sched_yield();
	}
}

static struct sockaddr_un at;
static socklen_t at_len;

static void name_it(int abstract)
{
	at.sun_family = AF_UNIX;
	snprintf(at.sun_path + abstract, sizeof(at.sun_path) - 1, "%s/here",
		 abstract ? getenv("T_TMP") : ".");
	at_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			     (size_t)abstract + strlen(at.sun_path + abstract));
	if (!abstract)
		unlink(at.sun_path);
}

/* Sends until its receiver takes no more. */
static void fill_receiver(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	while (sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      at_len) == 1)
		;
	CHECK(errno == EAGAIN);
	t_close(fd);
}

static void setup_receiver(void)
{
	name_it(0);
	in[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(in[0], (struct sockaddr *)&at, at_len) == 0);
	fill_receiver();
}

static long call_datagram(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r;

	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	r = send(fd, "x", 1, 0);
	t_close(fd);
	return r;
}

static long call_datagram_named(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r = sendto(fd, "x", 1, 0, (struct sockaddr *)&at, at_len);

	t_close(fd);
	return r;
}

static void feed_receiver(void)
{
	struct pollfd p = { in[0], POLLIN, 0 };
	char c;

	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < N)
		if (poll(&p, 1, 10) == 1)
			CHECK(read(in[0], &c, 1) == 1);
}

/* --- connections ----------------------------------------------------------- */

static void setup_listener(int abstract)
{
	name_it(abstract);
	in[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(in[0], (struct sockaddr *)&at, at_len) == 0);
	CHECK(listen(in[0], 0) == 0);
	in[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(in[1], (struct sockaddr *)&at, at_len) == 0);
}

static void setup_path(void)
{
	setup_listener(0);
}

static void setup_abstract(void)
{
	setup_listener(1);
}

static long call_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	t_close(fd);
	return 1;
}

static void feed_listener(void)
{
	for (int i = 0; i <= N; i++) {
		int fd = accept(in[0], NULL, NULL);

		CHECK(fd >= 0);
		t_close(fd);
	}
}

/* --- children --------------------------------------------------------------- */

/* One that ends when its pipe does; the waits that find none are counted. */
static void setup_child(void)
{
	pid_t pid;

	t_pipe(in);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(in[1]);
		t_eof(in[0]);
		_exit(0);
	}
}

static int reaped;

static long found(long r)
{
	if (r >= 0)
		__atomic_add_fetch(&reaped, 1, __ATOMIC_SEQ_CST);
	else
		CHECK(errno == ECHILD);
	return 1;
}

static long call_wait(void)
{
	return found(wait(NULL));
}

static long call_waitid(void)
{
	siginfo_t info;

	return found(waitid(P_ALL, 0, &info, WEXITED));
}

static void feed_child(void)
{
	t_close(in[1]);
}

/* --- message queues -------------------------------------------------------- */

static mqd_t queue;

static void setup_queue(void)
{
	struct mq_attr a = { .mq_maxmsg = 2, .mq_msgsize = 1 };
	char name[32];

	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	if (queue == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(queue != (mqd_t)-1);
	CHECK(mq_unlink(name) == 0);
}

static void setup_full_queue(void)
{
	setup_queue();
	CHECK(mq_send(queue, "x", 1, 0) == 0);
	CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static long call_mq_receive(void)
{
	char c;

	return mq_receive(queue, &c, 1, NULL);
}

static long call_mq_send(void)
{
	return mq_send(queue, "x", 1, 0) + 1;
}

static void feed_queue(void)
{
	for (int i = 0; i < N; i++)
		CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static void empty_queue(void)
{
	char c;

	for (int i = 0; i < N; i++)
		CHECK(mq_receive(queue, &c, 1, NULL) == 1);
}

/* --- many descriptors, locks ----------------------------------------------- */

static void setup_high(void)
{
	struct rlimit lim;
	int fd;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_cur < 2000)
		t_skip("no descriptors above 1024");
	t_pipe(in);
	fd = fcntl(in[0], F_DUPFD, 1500);
	CHECK(fd == 1500);
}

static long call_select(void)
{
	unsigned long set[32] = { 0 };
	int fd = 1500;

	set[fd / 64] |= 1ul << fd % 64;
	return select(fd + 1, (fd_set *)set, NULL, NULL, NULL);
}

static void feed_one(void)
{
	t_put(in[1], 'x');
}

static pid_t holder;

/* Another process has the whole file locked, until its pipe ends. */
static void setup_lock(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	t_pipe(in);
	t_pipe(out);
	holder = fork();
	CHECK(holder >= 0);
	if (holder == 0) {
		struct flock l = { .l_type = F_WRLCK };
		int fd = open(path, O_RDWR);

		t_close(in[1]);
		CHECK(flock(fd, LOCK_EX) == 0);
		CHECK(fcntl(fd, F_SETLK, &l) == 0);
		t_put(out[1], 'x');
		t_eof(in[0]);
		_exit(0);
	}
	CHECK(t_get(out[0]) == 'x');
}

static int reopen(void)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	return fd;
}

static long call_flock(void)
{
	int fd = reopen();

	CHECK(flock(fd, LOCK_EX) == 0);
	t_close(fd);
	return 1;
}

static long call_fcntl(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	CHECK(fcntl(file, F_SETLKW, &l) == 0);
	return 1;
}

static long call_ofd(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = reopen();

	CHECK(fcntl(fd, F_OFD_SETLKW, &l) == 0);
	t_close(fd);
	return 1;
}

static void feed_lock(void)
{
	t_close(in[1]);
	t_wait_ok(holder);
}

/* --- memory that is shared between processes --------------------------------- */

static union {
	uint32_t word;
	sem_t sem;
} *shared;

/* Linux 6.7 has such waits, and 6.10 rings in memory that the caller chooses. */
static void need_ring(void)
{
	struct { unsigned word[30]; } params = { { 0 } };
	struct utsname u;
	int major = 0, minor = 0, fd;

	CHECK(uname(&u) == 0 &&
	      sscanf(u.release, "%d.%d", &major, &minor) == 2);
	if (major < 6 || (major == 6 && minor < 10))
		t_skip("the kernel is older than 6.10");
	fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (fd < 0)
		t_skip("no io_uring is to be had");
	t_close(fd);
}

static void setup_shared(void)
{
	need_ring();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
}

static void setup_semaphore(void)
{
	setup_shared();
	CHECK(sem_init(&shared->sem, 1, 0) == 0);
}

static long wait_word(const struct timespec *limit)
{
	while (!__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST))
		CHECK(syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, limit,
			      NULL, 0) == 0 ||
		      errno == EAGAIN);
	return 1;
}

static long call_futex(void)
{
	return wait_word(NULL);
}

static long call_futex_limit(void)
{
	struct timespec hour = { 3600, 0 };

	return wait_word(&hour);
}

static long call_semaphore(void)
{
	CHECK(sem_wait(&shared->sem) == 0);
	return 1;
}

static void feed_word(void)
{
	__atomic_store_n(&shared->word, 1, __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_futex, &shared->word, FUTEX_WAKE, INT_MAX, NULL, NULL,
		      0) >= 0);
}

static void feed_semaphore(void)
{
	for (int i = 0; i < N; i++)
		CHECK(sem_post(&shared->sem) == 0);
}

static const struct wait {
	const char *name;
	void (*setup)(void);
	long (*call)(void);
	void (*feed)(void);
	int drained; /* by a thread that reads the output */
} waits[] = {
	{ "read", setup_pipes, call_read, feed, 0 },
	{ "sendfile", setup_stream, call_sendfile, NULL, 1 },
	{ "sendfile_pipe", setup_full, call_sendfile, NULL, 1 },
	{ "splice_in", setup_pipes, call_splice_in, feed, 0 },
	{ "splice_out", setup_stream, call_splice, feed, 1 },
	{ "splice_pipes", setup_pipes, call_splice, feed, 1 },
	{ "splice_tcp", setup_tcp, call_splice, feed, 1 },
	{ "tee", setup_full, call_tee, feed, 1 },
	{ "vmsplice", setup_full, call_vmsplice, NULL, 1 },
	{ "preadv2", setup_pipes, call_preadv2, feed, 0 },
	{ "pwritev2", setup_full, call_pwritev2, NULL, 1 },
	{ "recvmmsg", setup_udp, call_recvmmsg, feed_datagrams, 0 },
	{ "recvmmsg_limit", setup_udp, call_recvmmsg_limit, feed_datagrams, 0 },
	{ "connect", setup_path, call_connect, feed_listener, 0 },
	{ "connect_abstract", setup_abstract, call_connect, feed_listener, 0 },
	{ "datagram", setup_receiver, call_datagram, feed_receiver, 0 },
	{ "datagram_named", setup_receiver, call_datagram_named, feed_receiver, 0 },
	{ "wait_any", setup_child, call_wait, feed_child, 0 },
	{ "waitid_any", setup_child, call_waitid, feed_child, 0 },
	{ "mq_receive", setup_queue, call_mq_receive, feed_queue, 0 },
	{ "mq_send", setup_full_queue, call_mq_send, empty_queue, 0 },
	{ "select", setup_high, call_select, feed_one, 0 },
	{ "flock", setup_lock, call_flock, feed_lock, 0 },
	{ "fcntl", setup_lock, call_fcntl, feed_lock, 0 },
	{ "fcntl_ofd", setup_lock, call_ofd, feed_lock, 0 },
	{ "futex", setup_shared, call_futex, feed_word, 0 },
	{ "futex_limit", setup_shared, call_futex_limit, feed_word, 0 },
	{ "semaphore", setup_semaphore, call_semaphore, feed_semaphore, 0 },
};

static const struct wait *w;

static void *waiter(void *arg)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	CHECK(w->call() > 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int kernel_threads(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

static int workers(void)
{
	const char *e = getenv("FIBHOOK_WORKERS");

	return e ? atoi(e) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void find(const char *name)
{
	for (size_t i = 0; i < T_LEN(waits); i++)
		if (strcmp(waits[i].name, name) == 0)
			w = &waits[i];
	CHECK(w);
}

int main(int argc, char **argv)
{
	static pthread_t th[N];
	char path[PATH_MAX];
	pthread_t reader = 0;
	int n;

	CHECK(argc == 2);
	find(argv[1]);
	snprintf(path, sizeof(path), "%s/data", getenv("T_TMP"));
	file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	t_write(file, big, 100);
	w->setup();
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(waiter, NULL);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < N)
		sched_yield();
	n = kernel_threads();
	if (getenv("HELD_SHOW"))
		fprintf(stderr, "%s: %d kernel threads\n", w->name, n);
	CHECK(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
	if (getenv("T_HOOKED"))
		CHECK(n <= workers() + 8);
	else
		CHECK(n > N);
	if (w->feed)
		w->feed();
	if (w->drained)
		reader = t_thread(drain, &out[0]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	if (w->drained) {
		t_close(out[1]);
		t_join(reader);
	}
	if (reaped)
		t_say("%d reaped", reaped);
	t_say("%s: %d served", w->name, done);
	return 0;
}
