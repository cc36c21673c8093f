/*
 * A `struct flock` that the program changes while threads wait for its lock: each has asked for
 * what was there when it called.
 */
#include "../calls.h"
#include <fcntl.h>

enum { N = 3 };

static int fds[N + 1];
static struct flock lock = { .l_type = F_WRLCK, .l_len = 10 };

static long locks(void *arg)
{
	return fcntl(*(int *)arg, F_OFD_SETLKW, &lock);
}

/* Who has bytes 0 to 9, and who 100 to 109? By what another description would be refused. */
static int is_held(off_t start)
{
	struct flock l = { .l_type = F_WRLCK, .l_start = start, .l_len = 10 };

	CHECK(fcntl(fds[N], F_OFD_GETLK, &l) == 0);
	return l.l_type != F_UNLCK;
}

int main(void)
{
	char name[] = "/tmp/fibhook-lock-XXXXXX";
	struct flock all = { .l_type = F_WRLCK, .l_len = 10 };
	struct t_call c[N];

	fds[N] = mkstemp(name);
	CHECK(fds[N] >= 0);
	for (int i = 0; i < N; i++)
		CHECK((fds[i] = open(name, O_RDWR)) >= 0);
	CHECK_0(unlink(name));
	CHECK_0(fcntl(fds[N], F_OFD_SETLK, &all));
	for (int i = 0; i < N; i++)
		t_begin(&c[i], locks, &fds[i]);
	lock.l_start = 100;
	lock.l_type = F_RDLCK;
	for (int i = 0; i < N; i++)
		t_waits(&c[i]);
	all.l_type = F_UNLCK;
	CHECK_0(fcntl(fds[N], F_OFD_SETLK, &all));
	for (int i = 0; i < N; i++) {
		t_ended("locked", &c[i]);
		printf("%d %d\n", is_held(0), is_held(100));
		fflush(stdout);
		t_close(fds[i]);
	}
	return 0;
}
