/*
 * Reads of random numbers and of zeroes wait for nothing, and are done when a signal has
 * come: but not for another thread that changes the reader's priority meanwhile.
 */
#include "t.h"
#include <sys/random.h>
#include <sys/resource.h>

enum { SIZE = 16 << 20, PIECES = 64 };

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

int main(void)
{
	int level = getpriority(PRIO_PROCESS, 0) + 1;

	buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHECK(buf != MAP_FAILED);
	zero = open("/dev/zero", O_RDWR);
	random_fd = open("/dev/urandom", O_RDWR);
	CHECK(zero >= 0 && random_fd >= 0);
	for (enum how how = 0; how < HOWS; how++) {
		pthread_t th;

		tid = 0;
		th = t_thread(one, &how);
		while (!tid)
			sched_yield();
		t_settle();
		/* It may have ended by now. */
		setpriority(PRIO_PROCESS, (id_t)tid, level);
		t_join(th);
	}
	return 0;
}
