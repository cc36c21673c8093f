/*
 * Arguments of poll and select at their edges: as wide as the kernel's, looked
 * at in its order, and the sets written only with an answer.
 */
#include <sys/select.h>
#include "t.h"

static int p[2];

static long raw_select(fd_set *r, fd_set *w, struct timeval *tv)
{
	return syscall(SYS_select, p[1] + 1, r, w, NULL, tv);
}

static void widths(void)
{
	struct pollfd pf = { p[0], POLLIN, 0 };
	struct timeval many = { 0, 2500 }, wraps = { 0, LONG_MAX };
	struct timeval gone = { LONG_MAX, LONG_MAX }, left = { 1, -1 };
	fd_set s;

	/* nfds is an unsigned int */
	CHECK(syscall(SYS_poll, &pf, 1ul << 40, 5) == 0);
	CHECK(syscall(SYS_poll, &pf, (1ul << 40) + 1, 5) == 0);
	CHECK(syscall(SYS_poll, NULL, 1ul << 32, 0) == 0);
	CHECK_ERR(syscall(SYS_poll, &pf, ULONG_MAX, 5), EINVAL);

	FD_ZERO(&s);
	FD_SET(p[0], &s);
	CHECK(raw_select(&s, NULL, &many) == 0);
	/* The kernel adds the seconds that are in tv_usec, */
	FD_SET(p[1], &s);
	CHECK(raw_select(NULL, &s, &wraps) == 1);
	CHECK_ERR(raw_select(&s, NULL, &gone), EINVAL);
	CHECK_ERR(raw_select(&s, NULL, &left), EINVAL);
	/* libc looks at half of it, */
	wraps = (struct timeval){ 0, LONG_MAX };
	CHECK_ERR(select(p[1] + 1, NULL, &s, NULL, &wraps), EINVAL);
	wraps = (struct timeval){ 0, (1l << 32) + 2500 };
	CHECK(select(0, NULL, NULL, NULL, &wraps) == 0);
	/* and says how much is left. */
	CHECK(wraps.tv_sec == 0 && wraps.tv_usec == 0);
	many = (struct timeval){ 5, 3000000 };
	CHECK(select(p[1] + 1, NULL, &s, NULL, &many) == 1);
	CHECK(many.tv_sec == 7 && many.tv_usec < 1000000);
}

/* A mask that is not there is told of before a time that is none. */
static void order(void)
{
	struct timespec none = { -1, 0 }, now = { 0, 0 };
	const uint64_t mask = 0;
	struct {
		const uint64_t *mask;
		size_t size;
	} arg = { &mask, 4 };

	CHECK_ERR(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &none,
			  (void *)0x10),
		  EFAULT);
	CHECK_ERR(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &none, &arg),
		  EINVAL);
	CHECK_ERR(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &now, &arg),
		  EINVAL);
	arg.size = 8;
	arg.mask = (void *)0x10;
	CHECK_ERR(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &now, &arg),
		  EFAULT);
}

static volatile int stop;

static void *watches(void *set)
{
	while (!stop)
		CHECK(FD_ISSET(p[0], (fd_set *)set));
	return NULL;
}

static void sets(void)
{
	struct timeval soon = { 0, 20000 };
	fd_set *ro, s;
	pthread_t t;
	char c = 1;

	ro = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(ro != MAP_FAILED);
	/* Nobody sees a set change before there is an answer. */
	FD_SET(p[0], ro);
	t = t_thread(watches, ro);
	CHECK_ERR(syscall(SYS_select, p[1] + 1, ro, NULL, (void *)0x10, &soon),
		  EFAULT);
	CHECK_ERR(syscall(SYS_select, 900, ro, ro, ro, &(struct timeval){ -1, 0 }),
		  EINVAL);
	stop = 1;
	t_join(t);
	/* They are read, waited for, and then cannot be written. */
	CHECK(!mprotect(ro, 4096, PROT_READ));
	CHECK_ERR(raw_select(ro, NULL, &soon), EFAULT);
	CHECK(soon.tv_sec == 0 && soon.tv_usec == 0);
	CHECK(FD_ISSET(p[0], ro));
	CHECK(write(p[1], &c, 1) == 1);
	CHECK_ERR(raw_select(ro, NULL, NULL), EFAULT);
	/* What goes before has been written. */
	FD_ZERO(&s);
	FD_SET(p[0], &s);
	FD_SET(p[1], &s);
	CHECK_ERR(syscall(SYS_select, p[1] + 1, &s, ro, NULL, NULL), EFAULT);
	CHECK(FD_ISSET(p[0], &s) && !FD_ISSET(p[1], &s));
}

static void *all(void *arg)
{
	t_pipe(p);
	widths();
	order();
	sets();
	t_say("as the kernel");
	return arg;
}

int main(void)
{
	t_join(t_thread(all, NULL));
	return 0;
}
