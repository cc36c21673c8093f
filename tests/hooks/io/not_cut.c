/*
 * Calls that a signal ends with a part: of random numbers and zeroes, which wait for
 * nothing, of a write with flags, of AIO's events. Another thread that changes the
 * caller's priority meanwhile is no signal. Nor does a time limit begin anew then.
 */
#include "t.h"
#include <linux/aio_abi.h>
#include <sys/ipc.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>

enum { SIZE = 16 << 20, PIECES = 64, WRITTEN = 6 << 20 };

enum how {
	GETRANDOM,
	READ,
	PREAD,
	ZERO,
	ZERO_PREADV,
	ZERO_PREADV2,
	WRITE,
	HOWS
};

static const char *const name[] = { "getrandom", "read",    "pread", "zeroes",
				    "preadv",	 "preadv2", "write" };
static char *buf;
static int zero, random_fd;
static int level;
static _Atomic pid_t tid;

static void *one(void *arg)
{
	struct iovec v[PIECES];
	ssize_t r = 0;
	size_t want = SIZE;
	enum how how = *(enum how *)arg;

	for (int i = 0; i < PIECES; i++)
		v[i] = (struct iovec){ buf, SIZE };
	if (how >= ZERO && how <= ZERO_PREADV2)
		want = PIECES * (size_t)SIZE;
	if (want > 0x7ffff000)
		want = 0x7ffff000;
	tid = gettid();
	switch (how) {
	case GETRANDOM:
		r = getrandom(buf, SIZE, 0);
		break;
	case READ:
		r = read(random_fd, buf, SIZE);
		break;
	case PREAD:
		r = pread(random_fd, buf, SIZE, 5);
		break;
	case ZERO:
		r = readv(zero, v, PIECES);
		break;
	case ZERO_PREADV:
		r = preadv(zero, v, PIECES, 0);
		break;
	case ZERO_PREADV2:
		r = preadv2(zero, v, PIECES, -1, RWF_HIPRI);
		break;
	case WRITE:
		r = write(random_fd, buf, SIZE);
		break;
	case HOWS:
		break;
	}
	t_say("%s: %s", name[how], r == (ssize_t)want ? "all of it" : "cut");
	return NULL;
}

struct waiting {
	int fd, flags;
	aio_context_t aio;
	long nr;
};

static void *writes(void *arg)
{
	struct waiting *w = arg;
	struct iovec v = { buf, WRITTEN };

	tid = gettid();
	t_say("flags %#x: %zd", w->flags, pwritev2(w->fd, &v, 1, -1, w->flags));
	t_close(w->fd);
	return NULL;
}

static void *waits(void *arg)
{
	struct waiting *w = arg;
	struct timespec limit = { 20, 0 };
	struct io_event e[4];

	tid = gettid();
	t_say("%ld events",
	      syscall(w->nr, w->aio, 2, 4, e, w->flags ? &limit : NULL, NULL));
	return NULL;
}

/* It waits, mostly. */
static pthread_t begin(void *(*fn)(void *), void *arg)
{
	pthread_t th;

	tid = 0;
	th = t_thread(fn, arg);
	while (!tid)
		sched_yield();
	t_settle();
	return th;
}

static void flagged(int sv[2], int flags)
{
	struct waiting w = { .fd = sv[1], .flags = flags };
	pthread_t th = begin(writes, &w);
	static char b[65536];
	long n, all = 0;

	CHECK(setpriority(PRIO_PROCESS, (id_t)tid, level) == 0);
	while ((n = read(sv[0], b, sizeof(b))) > 0)
		all += n;
	t_join(th);
	t_say("%ld came", all);
	t_close(sv[0]);
}

static void poll_it(aio_context_t aio, struct iocb *cb, int fd)
{
	*cb = (struct iocb){ .aio_lio_opcode = IOCB_CMD_POLL,
			     .aio_fildes = (unsigned)fd,
			     .aio_buf = POLLIN };
	CHECK(syscall(SYS_io_submit, aio, 1, &cb) == 1);
}

static void events(long nr, int limited)
{
	struct waiting w = { .nr = nr, .flags = limited };
	struct iocb cb[2];
	int p[2][2];
	pthread_t th;

	if (syscall(SYS_io_setup, 8, &w.aio)) {
		t_say("2 events");
		return;
	}
	for (int i = 0; i < 2; i++) {
		t_pipe(p[i]);
		poll_it(w.aio, &cb[i], p[i][0]);
	}
	th = begin(waits, &w);
	t_put(p[0][1], 'x');
	t_settle();
	CHECK(setpriority(PRIO_PROCESS, (id_t)tid, level) == 0);
	t_put(p[1][1], 'x');
	t_join(th);
}

static void *waits_in_vain(void *arg)
{
	struct timespec limit = t_ts(600 * T_MS);
	struct sembuf down = { 0, -1, 0 };
	struct waiting *w = arg;
	struct io_event e[4];
	long long start = t_now();

	tid = gettid();
	if (w->nr == SYS_semtimedop)
		CHECK_ERR(semtimedop(w->fd, &down, 1, &limit), EAGAIN);
	else
		CHECK(syscall(w->nr, w->aio, 1, 4, e, &limit, NULL) == 0);
	T_TOOK(start, 600 * T_MS);
	return NULL;
}

static void in_vain(long nr)
{
	struct timespec most = t_ts(500 * T_MS);
	struct waiting w = { .nr = nr };
	pthread_t th;

	if (nr == SYS_semtimedop)
		w.fd = semget(IPC_PRIVATE, 1, 0600);
	else if (syscall(SYS_io_setup, 8, &w.aio))
		w.fd = -1;
	if (w.fd < 0)
		return;
	th = begin(waits_in_vain, &w);
	nanosleep(&most, NULL);
	/* It may have ended by now. */
	setpriority(PRIO_PROCESS, (id_t)tid, level);
	t_join(th);
	if (nr == SYS_semtimedop)
		CHECK(semctl(w.fd, 0, IPC_RMID) == 0);
}

int main(void)
{
	static const int flags[] = { RWF_HIPRI, RWF_DSYNC, RWF_APPEND };
	int sv[2];

	level = getpriority(PRIO_PROCESS, 0) + 1;

	buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHECK(buf != MAP_FAILED);
	zero = open("/dev/zero", O_RDWR);
	random_fd = open("/dev/urandom", O_RDWR);
	CHECK(zero >= 0 && random_fd >= 0);
	for (enum how how = 0; how < HOWS; how++) {
		pthread_t th;

		th = begin(one, &how);
		/* It may have ended by now. */
		setpriority(PRIO_PROCESS, (id_t)tid, level);
		t_join(th);
	}
	for (size_t i = 0; i < T_LEN(flags); i++) {
		t_pipe(sv);
		flagged(sv, flags[i]);
		t_pair(sv);
		flagged(sv, flags[i]);
		t_tcp_pair(sv);
		flagged(sv, flags[i]);
	}
	for (int limited = 0; limited < 2; limited++) {
		events(SYS_io_getevents, limited);
		events(SYS_io_pgetevents, limited);
	}
	in_vain(SYS_io_getevents);
	in_vain(SYS_io_pgetevents);
	in_vain(SYS_semtimedop);
	return 0;
}
