/* What the library's public tests cannot reach: a million descriptors. */
#include <sys/epoll.h>
#include "libfib/lib.h"
#include "tests/unit/unit.h"

#define MILLION 1000000

static int controls, last_fd;
static uint64_t last_data;

static long pretend(int op, int fd, const void *ev)
{
	const struct epoll_event *e = ev;

	controls++;
	last_fd = fd;
	last_data = e->data.u64;
	return fd == 77 ? -EBADF : 0;
}

static void never(void *arg)
{
	ck_abort_msg("nothing is ready");
}

/* The table grows to the highest number at once, and keeps what it had. */
START_TEST(a_million_descriptors)
{
	struct fib_sched *s;
	uint32_t failed = 0;

	ck_assert_int_eq(fib_sched_create(&s, 1, false, NULL), 0);
	s->lib.control = pretend;
	for (int fd = MILLION - 1; fd >= 0; fd--)
		failed +=
			fib_iom_add_event(s, fd, FIB_EV_READ, never, NULL) != 0;
	/* number 77 is the one that is not open */
	ck_assert_uint_eq(failed, 1);
	ck_assert_uint_eq(fib_iom_pending(s), MILLION - 1);
	ck_assert_int_eq(controls, MILLION);
	ck_assert_int_eq(last_fd, 0);
	ck_assert_int_eq((int)(uint32_t)last_data, 0);
	ck_assert_int_eq(fib_iom_add_event(s, 0, FIB_EV_READ, never, NULL),
			 -EEXIST);
	ck_assert_int_eq(
		fib_iom_add_event(s, MILLION - 1, FIB_EV_READ, never, NULL),
		-EEXIST);
	for (int fd = 0; fd < MILLION; fd++)
		failed += fib_iom_del_event(s, fd, FIB_EV_READ) != 0;
	ck_assert_uint_eq(failed, 2);
	ck_assert_uint_eq(fib_iom_pending(s), 0);
	ck_assert_uint_eq(fib_total(), 0);
	ck_assert_int_eq(fib_sched_destroy(s), 0);
}
END_TEST

TCase *unit_library(void)
{
	TCase *t = tcase_create("library");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_million_descriptors);
	return t;
}
