/* The IOManager: events of descriptors. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static atomic_int fired[2], ran;
static struct fib_sched *sched;
static int sv[2];

static void fire(void *arg)
{
	ck_assert_ptr_eq(fib_sched_current(), sched);
	fired[(intptr_t)arg]++;
}

static bool fired_one(void)
{
	return fired[0] == 1;
}

static bool fired_both(void)
{
	return fired[0] == 1 && fired[1] == 1;
}

static bool none_pending(void)
{
	return fib_iom_pending(sched) == 0;
}

static bool all_idle(void)
{
	struct fib_sched_info info;

	OK(fib_sched_info(sched, &info));
	return info.idle == info.threads && info.fibers == 0;
}

static void begin(unsigned threads)
{
	sched = started(threads, false);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
}

static int add(int fd, int event)
{
	return fib_iom_add_event(sched, fd, event, fire,
				 (void *)(intptr_t)(event == FIB_EV_WRITE));
}

START_TEST(one_shot)
{
	begin(2);
	OK(add(sv[0], FIB_EV_READ));
	ck_assert_uint_eq(fib_iom_pending(sched), 1);
	until(all_idle);
	ck_assert_int_eq(fired[0], 0);
	ck_assert_int_eq(write(sv[1], "a", 1), 1);
	until(fired_one);
	ck_assert_uint_eq(fib_iom_pending(sched), 0);
	/* it was for once */
	ck_assert_int_eq(write(sv[1], "b", 1), 1);
	until(all_idle);
	ck_assert_int_eq(fired[0], 1);
	/* what is ready already fires at once */
	OK(add(sv[0], FIB_EV_READ));
	OK(add(sv[0], FIB_EV_WRITE));
	until(none_pending);
	finish(sched);
	ck_assert_int_eq(fired[0], 2);
	ck_assert_int_eq(fired[1], 1);
}
END_TEST

START_TEST(twice)
{
	begin(1);
	OK(add(sv[0], FIB_EV_READ));
	ck_assert_int_eq(add(sv[0], FIB_EV_READ), -EEXIST);
	ck_assert_uint_eq(fib_iom_pending(sched), 1);
	OK(fib_iom_del_event(sched, sv[0], FIB_EV_READ));
	ck_assert_int_eq(fib_iom_del_event(sched, sv[0], FIB_EV_READ), -ENOENT);
	finish(sched);
	ck_assert_int_eq(fired[0], 0);
}
END_TEST

START_TEST(bad_arguments)
{
	char name[] = "/tmp/fib-library-XXXXXX";
	int fd, closed = dup(0);

	begin(1);
	close(closed);
	ck_assert_int_eq(add(closed, FIB_EV_READ), -EBADF);
	ck_assert_int_eq(add(-1, FIB_EV_READ), -EBADF);
	ck_assert_int_eq(add(1 << 30, FIB_EV_READ), -EBADF);
	ck_assert_int_eq(add(sv[0], 0), -EINVAL);
	ck_assert_int_eq(add(sv[0], FIB_EV_READ | FIB_EV_WRITE), -EINVAL);
	ck_assert_int_eq(fib_iom_add_event(NULL, sv[0], FIB_EV_READ, fire, 0),
			 -EINVAL);
	ck_assert_int_eq(fib_iom_add_event(sched, sv[0], FIB_EV_READ, NULL, 0),
			 -EPERM);
	fd = mkstemp(name);
	unlink(name);
	ck_assert_int_eq(add(fd, FIB_EV_READ), -EPERM);
	ck_assert_int_eq(fib_iom_del_event(sched, 77777, FIB_EV_READ), -ENOENT);
	ck_assert_int_eq(fib_iom_del_event(NULL, 0, FIB_EV_READ), -EINVAL);
	ck_assert_int_eq(fib_iom_cancel_event(sched, 0, 4), -EINVAL);
	ck_assert_int_eq(fib_iom_cancel_event(sched, 0, 1), -ENOENT);
	ck_assert_int_eq(fib_iom_cancel_all(NULL, 0), -EINVAL);
	OK(fib_iom_cancel_all(sched, -1));
	ck_assert_int_eq(fib_iom_cancel_pending(NULL), -EINVAL);
	ck_assert_uint_eq(fib_iom_pending(NULL), 0);
	ck_assert_int_eq(fib_close(-1), -EBADF);
	ck_assert_int_eq(fib_close(77777), -EBADF);
	ck_assert_uint_eq(fib_iom_pending(sched), 0);
	finish(sched);
}
END_TEST

static void fill(int fd)
{
	static char buf[65536];

	while (send(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

/* Both are waited for; one is forgotten, and the other one still fires. */
START_TEST(delete_one_of_two)
{
	begin(2);
	fill(sv[0]);
	OK(add(sv[0], FIB_EV_READ));
	OK(add(sv[0], FIB_EV_WRITE));
	OK(fib_iom_del_event(sched, sv[0], FIB_EV_WRITE));
	ck_assert_uint_eq(fib_iom_pending(sched), 1);
	until(all_idle);
	ck_assert_int_eq(write(sv[1], "a", 1), 1);
	until(fired_one);
	finish(sched);
	ck_assert_int_eq(fired[1], 0);
}
END_TEST

START_TEST(cancel_fires_once)
{
	begin(2);
	fill(sv[0]);
	OK(add(sv[0], FIB_EV_READ));
	OK(fib_iom_cancel_event(sched, sv[0], FIB_EV_READ));
	until(fired_one);
	ck_assert_int_eq(fib_iom_cancel_event(sched, sv[0], FIB_EV_READ),
			 -ENOENT);
	ck_assert_int_eq(write(sv[1], "a", 1), 1);
	until(all_idle);
	ck_assert_int_eq(fired[0], 1);
	ck_assert_int_eq(read(sv[0], (char[1]){ 0 }, 1), 1);
	OK(add(sv[0], FIB_EV_READ));
	OK(add(sv[0], FIB_EV_WRITE));
	ck_assert_int_eq(fib_iom_cancel_all(sched, sv[0]), 2);
	ck_assert_int_eq(fib_iom_cancel_all(sched, sv[0]), 0);
	finish(sched);
	ck_assert_int_eq(fired[0], 2);
	ck_assert_int_eq(fired[1], 1);
}
END_TEST

START_TEST(hang_up_fires_both)
{
	begin(2);
	fill(sv[0]);
	OK(add(sv[0], FIB_EV_READ));
	OK(add(sv[0], FIB_EV_WRITE));
	until(all_idle);
	ck_assert_int_eq(fired[0] + fired[1], 0);
	close(sv[1]);
	until(fired_both);
	finish(sched);
}
END_TEST

/* The end of a pipe that nobody reads any more: EPOLLERR alone. */
START_TEST(error_fires_both)
{
	int p[2];

	begin(2);
	OK(pipe2(p, O_NONBLOCK));
	while (write(p[1], p, 1) == 1)
		;
	OK(add(p[1], FIB_EV_READ));
	OK(add(p[1], FIB_EV_WRITE));
	until(all_idle);
	ck_assert_int_eq(fired[0] + fired[1], 0);
	close(p[0]);
	until(fired_both);
	finish(sched);
}
END_TEST

/* So many that an event which one thread has taken meets the next one that is added. */
enum { HOLDS = 5000 };

static void hold_for_event(void *arg)
{
	for (int i = 0; i < HOLDS; i++) {
		char c;

		OK(fib_iom_add_event(sched, sv[0], FIB_EV_READ, NULL, NULL));
		OK(fib_yield());
		ck_assert_int_eq(recv(sv[0], &c, 1, MSG_DONTWAIT), 1);
		ck_assert_int_eq(send(sv[0], &c, 1, 0), 1);
	}
	ran++;
}

START_TEST(current_fiber)
{
	begin(4);
	OK(fib_sched_submit(sched, hold_for_event, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < HOLDS; i++) {
		char c = (char)i, d = 0;

		ck_assert_int_eq(write(sv[1], &c, 1), 1);
		ck_assert_int_eq(read(sv[1], &d, 1), 1);
		ck_assert_int_eq(c, d);
	}
	finish(sched);
	ck_assert_int_eq(ran, 1);
}
END_TEST

static void lowest_and_highest(void *arg)
{
	struct rlimit lim;
	int high;

	OK(getrlimit(RLIMIT_NOFILE, &lim));
	high = (int)lim.rlim_cur - 1;
	begin(1);
	ck_assert_int_eq(dup2(sv[0], high), high);
	ck_assert_int_eq(dup2(sv[0], 0), 0);
	OK(add(high, FIB_EV_READ));
	OK(fib_iom_add_event(sched, 0, FIB_EV_READ, fire, (void *)1));
	ck_assert_int_eq(write(sv[1], "a", 1), 1);
	until(fired_both);
	finish(sched);
}

START_TEST(fd_0_and_the_highest)
{
	lowest_and_highest(NULL);
}
END_TEST

#define MANY 2000

static void count(void *arg)
{
	ran++;
}

static bool many_ran(void)
{
	return ran == MANY;
}

/* All of them ready at once, more than one wait returns. */
START_TEST(many_ready_at_once)
{
	static int fd[MANY];

	begin(2);
	for (int i = 0; i < MANY; i++) {
		fd[i] = eventfd(0, 0);
		ck_assert_int_ge(fd[i], 0);
		OK(fib_iom_add_event(sched, fd[i], FIB_EV_READ, count, NULL));
	}
	ck_assert_uint_eq(fib_iom_pending(sched), MANY);
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(eventfd_write(fd[i], 1), 0);
	until(many_ran);
	finish(sched);
}
END_TEST

static atomic_bool stop_returned;

static void *stop_main(void *arg)
{
	OK(fib_sched_stop(sched));
	stop_returned = true;
	return NULL;
}

START_TEST(stop_waits_for_events)
{
	pthread_t t;

	begin(2);
	OK(add(sv[0], FIB_EV_READ));
	ck_assert_int_eq(fib_timer_add(sched, 3600 * SEC, FIB_TIMER_RECURRING,
				       count, NULL, NULL) > 0,
			 1);
	OK(pthread_create(&t, NULL, stop_main, NULL));
	until(all_idle);
	ck_assert(!stop_returned);
	ck_assert_int_eq(fib_iom_cancel_pending(sched), 2);
	OK(pthread_join(t, NULL));
	ck_assert_int_eq(fired[0], 1);
	ck_assert_int_eq(ran, 0);
	OK(fib_sched_destroy(sched));
}
END_TEST

/* A number that is closed and opened again: the old event is not the new. */
START_TEST(number_used_again)
{
	begin(1);
	for (int i = 0; i < 100; i++) {
		int fd = eventfd(0, 0), got;

		fired[0] = 0;
		OK(add(fd, FIB_EV_READ));
		OK(fib_iom_del_event(sched, fd, FIB_EV_READ));
		ck_assert_int_eq(eventfd_write(fd, 1), 0);
		close(fd);
		got = eventfd(0, 0);
		ck_assert_int_eq(got, fd);
		OK(add(fd, FIB_EV_READ));
		until(all_idle);
		ck_assert_int_eq(fired[0], 0);
		ck_assert_int_eq(eventfd_write(fd, 1), 0);
		until(fired_one);
		OK(i % 2 ? fib_close(fd) : close(fd));
	}
	finish(sched);
}
END_TEST

START_TEST(close_cancels)
{
	begin(1);
	OK(add(sv[0], FIB_EV_READ));
	OK(fib_close(sv[0]));
	until(fired_one);
	ck_assert_int_eq(fcntl(sv[0], F_GETFD), -1);
	finish(sched);
}
END_TEST

/* --- two threads, the same descriptors ------------------------------------------ */

#define FDS   8
#define TURNS 3000

static _Atomic int shared[FDS];
static atomic_int added, gone;

static void hit(void *arg)
{
	gone++;
}

static void *hammer(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < TURNS; i++) {
		int n = rand_r(&seed) % FDS, fd = shared[n], r;
		int event = 1 + rand_r(&seed) % 2;

		switch (rand_r(&seed) % 6) {
		case 0:
		case 1:
		case 2:
			r = fib_iom_add_event(sched, fd, event, hit, NULL);
			if (r == 0)
				added++;
			else
				ck_assert(r == -EEXIST || r == -EBADF);
			break;
		case 3:
			r = fib_iom_del_event(sched, fd, event);
			if (r == 0)
				gone++;
			else
				ck_assert_int_eq(r, -ENOENT);
			break;
		case 4:
			r = fib_iom_cancel_event(sched, fd, event);
			ck_assert(r == 0 || r == -ENOENT);
			break;
		default:
			/* who takes it out closes it, and puts another in */
			fd = atomic_exchange(&shared[n], -1);
			if (fd < 0)
				break;
			fib_iom_cancel_all(sched, fd);
			OK(rand_r(&seed) % 2 ? fib_close(fd) : close(fd));
			shared[n] = eventfd(0, EFD_NONBLOCK);
		}
	}
	return NULL;
}

START_TEST(hammered)
{
	pthread_t t[2];

	begin(2);
	for (int i = 0; i < FDS; i++)
		shared[i] = eventfd(0, EFD_NONBLOCK);
	for (uintptr_t i = 0; i < 2; i++)
		OK(pthread_create(&t[i], NULL, hammer, (void *)(i + 1)));
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	fib_iom_cancel_pending(sched);
	finish(sched);
	ck_assert_int_gt(added, 100);
	/* each that was added was fired or forgotten, once */
	ck_assert_int_eq(added, gone);
	ck_assert_uint_eq(fib_total(), 0);
}
END_TEST

TCase *library_iom(void)
{
	TCase *t = tcase_create("iom");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, one_shot);
	tcase_add_test(t, twice);
	tcase_add_test(t, bad_arguments);
	tcase_add_test(t, delete_one_of_two);
	tcase_add_test(t, cancel_fires_once);
	tcase_add_test(t, hang_up_fires_both);
	tcase_add_test(t, error_fires_both);
	tcase_add_test(t, current_fiber);
	tcase_add_test(t, fd_0_and_the_highest);
	tcase_add_test(t, many_ready_at_once);
	tcase_add_test(t, stop_waits_for_events);
	tcase_add_test(t, number_used_again);
	tcase_add_test(t, close_cancels);
	tcase_add_test(t, hammered);
	return t;
}
