/* Who waits for a descriptor that is closed; and descriptors of our own. */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include "runtime/hidden.h"
#include "runtime/trywait.h"
#include "tests/unit/pair.h"

/* For ever. */
static int limit(struct fib_io *io)
{
	return 0;
}

static const struct fib_io_rules rules = { .limit = limit };

/* One that came after the others were moved out. */
FIBER_TEST(waits_while_closing, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter late, o;

	fib_iom_publish(s, &o, FIB_IO_READ, true, 0);
	fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_publish(s, &late, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_forget(s, true);
	close(sv[0]);
	fib_iom_closed(s);
	ck_assert(fib_load(&late.woken, acquire));
	fib_iom_retract(&o);
}

/* Who waits while the descriptor is closed gets the data all the same. */
FIBER_TEST(evict, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM), *to;
	struct fib_waiter w[2], o;
	int fd = sv[0];

	for (int i = 0; i < 2; i++)
		fib_iom_publish(s, &w[i], FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_publish(s, &o, FIB_IO_READ, true, 0);
	fib_iom_poll(0);
	fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_forget(s, true);
	close(fd);
	to = fib_load(&w[0].slot, acquire);
	ck_assert_ptr_ne(to, s);
	ck_assert_ptr_eq(fib_load(&w[1].slot, acquire), to);
	ck_assert_ptr_eq(fib_load(&o.slot, acquire), s);
	ck_assert(fib_fd_is_ours(to->fd));
	ck_assert_uint_eq(fib_load(&to->guests, relaxed), 2);
	ck_assert(!fib_load(&w[0].woken, acquire));
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w[0].woken, acquire));
	ck_assert(!fib_load(&w[1].woken, acquire));
	ck_assert_int_eq(take(to->fd), 1);
	fib_iom_pass(to, FIB_IO_READ);
	fib_iom_guest_leave(to);
	ck_assert(fib_load(&w[1].woken, acquire));
	ck_assert(fib_fd_is_ours(to->fd));
	ck_assert_int_eq(take(to->fd), -EAGAIN);
	fib_iom_guest_leave(to);
	ck_assert(!fib_fd_is_ours(to->fd));
	ck_assert_int_eq(fcntl(to->fd, F_GETFD), -1);
	fib_iom_retract(&o);
}

/* An observer may go with the file too, and tells by its slot where it is. */
FIBER_TEST(observer_moves, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM), *to;
	struct fib_waiter stays, goes;

	fib_iom_publish(s, &stays, FIB_IO_READ, true, 0);
	ck_assert_int_eq(
		fib_iom_observe(s, &goes, FIB_IO_READ, fib_iom_begin(s)), 0);
	fib_iom_poll(0);
	fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_forget(s, true);
	close(sv[0]);
	to = fib_load(&goes.slot, acquire);
	ck_assert_ptr_ne(to, s);
	ck_assert_ptr_eq(fib_load(&stays.slot, acquire), s);
	ck_assert_uint_eq(fib_load(&to->guests, relaxed), 1);
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&goes.woken, acquire));
	ck_assert(!fib_load(&stays.woken, acquire));
	fib_iom_guest_leave(to);
	ck_assert(!fib_fd_is_ours(to->fd));
	fib_iom_retract(&stays);
}

/*
 * One call of two holds on to the file. Both come too late to be moved; the end
 * of the close tells the first of them, which goes where its file is.
 */
FIBER_TEST(who_follows_its_file_tells_the_next, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_io io = FIB_IO(s, FIB_IO_READ, &rules);
	struct fib_waiter own, other;
	struct fib_hold hold;

	fib_io_start(&io);
	ck_assert(fib_iom_hold(s, &hold, io.closes));
	ck_assert(fib_io_try(&io, &hold));
	fib_io_begin(&io);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	fib_iom_tried(&hold);
	ck_assert(fib_iom_closing(s));
	fib_iom_evict(s, fib_iom_refuge(s));
	ck_assert_int_eq(fib_iom_publish(s, &own, FIB_IO_READ, false, io.seq),
			 0);
	ck_assert_int_eq(fib_iom_publish(s, &other, FIB_IO_READ, false, io.seq),
			 0);
	fib_iom_forget(s, true);
	close(sv[0]);
	fib_iom_closed(s);
	ck_assert(fib_load(&own.woken, acquire));
	ck_assert(!fib_load(&other.woken, acquire));
	io.woken = true;
	ck_assert(fib_io_try(&io, &hold));
	ck_assert_ptr_ne(io.s, s);
	ck_assert(fib_load(&other.woken, acquire));
	fib_iom_tried(&hold);
	fib_iom_let_go(&hold);
	ck_assert(!fib_fd_is_ours(io.s->fd));
}

static void *closes(void *arg)
{
	struct fib_fd *s = arg;

	if (fib_iom_closing(s))
		fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_forget(s, true);
	close(s->fd);
	fib_iom_closed(s);
	return NULL;
}

/*
 * A close that begins during a first try waits for its end; until then the call
 * may hold, though it has not been there to be moved. One whose first try begins
 * after that may not.
 */
FIBER_TEST(first_try_holds_late, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM), *to;
	uint32_t closes_then = fib_iom_enter(s);
	struct fib_hold hold;
	pthread_t t;

	unit_thread(&t, closes, s);
	while (!fib_load(&s->evicting, acquire))
		sched_yield();
	ck_assert(fib_iom_enter(s) & FIB_CLOSING);
	fib_iom_leave(s);
	ck_assert(!fib_iom_hold(s, &hold, closes_then));
	to = fib_iom_move(s, &hold, fib_iom_refuge(s));
	ck_assert_ptr_ne(to, s);
	fib_iom_leave(s);
	pthread_join(t, NULL);
	ck_assert_int_eq(fcntl(sv[0], F_GETFD), -1);
	put(1);
	ck_assert_ptr_eq(fib_iom_try(&hold), to);
	ck_assert_int_eq(take(to->fd), 1);
	fib_iom_tried(&hold);
	fib_iom_let_go(&hold);
	ck_assert(!fib_fd_is_ours(to->fd));
}

/* The close and the call may both have made a duplicate: one is enough. */
FIBER_TEST(moved_by_both, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM), *mine, *to;
	struct fib_hold hold;
	pthread_t t;

	ck_assert(fib_iom_hold(s, &hold, fib_load(&s->closes, relaxed)));
	ck_assert_ptr_eq(fib_iom_try(&hold), s);
	mine = fib_iom_refuge(s);
	unit_thread(&t, closes, s);
	while (!fib_load(&s->evicting, acquire))
		sched_yield();
	to = fib_iom_move(s, &hold, mine);
	ck_assert_ptr_ne(to, mine);
	ck_assert_ptr_ne(to, s);
	ck_assert(!fib_fd_is_ours(mine->fd));
	fib_iom_tried(&hold);
	pthread_join(t, NULL);
	put(1);
	ck_assert_int_eq(take(to->fd), 1);
	fib_iom_let_go(&hold);
	ck_assert(!fib_fd_is_ours(to->fd));
}

FIBER_TEST(evict_nobody, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter o;

	fib_iom_publish(s, &o, FIB_IO_READ, true, 0);
	fib_iom_evict(s, fib_iom_refuge(s));
	ck_assert_ptr_eq(fib_load(&o.slot, acquire), s);
	fib_iom_retract(&o);
}

START_TEST(hidden)
{
	struct rlimit lim;
	int fd, ours;

	getrlimit(RLIMIT_NOFILE, &lim);
	fd = eventfd(0, 0);
	ours = fib_fd_hide(fd);
	/* out of the way, but not higher than that takes */
	ck_assert_int_ge(ours,
			 lim.rlim_cur > 1088 ? 1024 : (int)lim.rlim_cur - 64);
	ck_assert_int_lt(ours, 1088);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_int_eq(fcntl(ours, F_GETFD), FD_CLOEXEC);
	ck_assert(fib_fd_is_ours(ours));
	ck_assert(!fib_fd_is_ours(fd));
	fib_fd_unhide(ours);
	ck_assert(!fib_fd_is_ours(ours));
	ck_assert_int_eq(fib_fd_hide(-EMFILE), -EMFILE);
	/* with no room up there it stays where it is, and is ours as well */
	lim.rlim_cur = 32;
	setrlimit(RLIMIT_NOFILE, &lim);
	fd = eventfd(0, 0);
	ck_assert_int_eq(fib_fd_hide(fd), fd);
	ck_assert(fib_fd_is_ours(fd));
}
END_TEST

TCase *unit_close(void)
{
	TCase *t = tcase_create("close");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, waits_while_closing);
	tcase_add_test(t, evict);
	tcase_add_test(t, observer_moves);
	tcase_add_test(t, who_follows_its_file_tells_the_next);
	tcase_add_test(t, first_try_holds_late);
	tcase_add_test(t, moved_by_both);
	tcase_add_test(t, evict_nobody);
	tcase_add_test(t, hidden);
	return t;
}
