/* The IOManager: edges, hand-over, closing. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/hidden.h"
#include "runtime/trywait.h"
#include "tests/unit/unit.h"

static int sv[2];

static struct fib_fd *start(int type)
{
	unit_start(1);
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, sv), 0);
	return fib_fd_get(sv[0]);
}

static long take(int fd)
{
	char c;

	return fib_raw(SYS_recvfrom, fd, &c, 1, MSG_DONTWAIT, 0, 0);
}

static void put(int n)
{
	while (n--)
		ck_assert_int_eq(send(sv[1], "x", 1, 0), 1);
}

START_TEST(slots)
{
	ck_assert_ptr_null(fib_iom_peek(&fib_sched, 70000));
	ck_assert_ptr_nonnull(fib_iom_slot(&fib_sched, 70000));
	ck_assert_ptr_eq(fib_iom_peek(&fib_sched, 70000),
			 fib_iom_slot(&fib_sched, 70000));
	ck_assert_int_eq(fib_iom_slot(&fib_sched, 70000)->fd, 70000);
	ck_assert_ptr_null(fib_iom_slot(&fib_sched, -1));
	ck_assert_ptr_null(fib_iom_slot(&fib_sched, 1 << 20));
	ck_assert_ptr_nonnull(fib_iom_slot(&fib_sched, (1 << 20) - 1));
}
END_TEST

START_TEST(edge_wakes)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq = fib_iom_begin(s);

	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 0);
	fib_iom_poll(0);
	ck_assert(!fib_load(&w.woken, acquire));
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
	ck_assert(fib_list_empty(&w.node));
	/* the wake-up came before the park, which does not wait */
	fib_park();
	ck_assert_int_eq(take(sv[0]), 1);
}
END_TEST

START_TEST(edge_before_publish)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq = fib_iom_begin(s);

	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 0);
	fib_iom_retract(&w);
	fib_iom_poll(0); /* writable */
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(1);
	fib_iom_poll(0);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 1);
	/* an edge that came before the try is no news */
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 0);
	fib_iom_retract(&w);
}
END_TEST

/*
 * One edge, food for two. Who tried before it and publishes after it must not
 * wait, even where another one has begun a call of its own since.
 */
START_TEST(edge_used_by_another)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq;

	seq = fib_iom_begin(s);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 0);
	fib_iom_retract(&w);
	fib_iom_poll(0);
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(2);
	fib_iom_poll(0);
	fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 1);
}
END_TEST

/* The same, where the edge went to one that was waiting already. */
START_TEST(edge_given_to_another)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter first, w;
	uint32_t seq;

	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	ck_assert_int_eq(fib_iom_publish(s, &first, FIB_EV_READ, false, seq),
			 0);
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(2);
	fib_iom_poll(0);
	ck_assert(fib_load(&first.woken, acquire));
	fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	fib_iom_pass(s, FIB_EV_READ);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 1);
}
END_TEST

START_TEST(pass_wakes_the_next)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w[3];

	for (int i = 0; i < 3; i++) {
		uint32_t seq = fib_iom_begin(s);

		ck_assert_int_eq(
			fib_iom_publish(s, &w[i], FIB_EV_READ, false, seq), 0);
	}
	put(3);
	fib_iom_poll(0);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(fib_load(&w[k].woken, acquire),
					 k <= i);
		ck_assert_int_eq(take(sv[0]), 1);
		fib_iom_pass(s, FIB_EV_READ);
	}
}
END_TEST

START_TEST(observers)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w[2], o[2];

	for (int i = 0; i < 2; i++) {
		fib_iom_publish(s, &w[i], FIB_EV_READ, false, fib_iom_begin(s));
		fib_iom_publish(s, &o[i], FIB_EV_READ, true, 0);
	}
	put(1);
	fib_iom_poll(0);
	/* one who eats, all who look */
	ck_assert(fib_load(&w[0].woken, acquire));
	ck_assert(!fib_load(&w[1].woken, acquire));
	ck_assert(fib_load(&o[0].woken, acquire));
	ck_assert(fib_load(&o[1].woken, acquire));
	fib_iom_retract(&o[0]);
	fib_iom_retract(&w[1]);
	ck_assert(fib_list_empty(&s->waiters));
	ck_assert_int_eq(fib_load(&s->waiting, relaxed), 0);
}
END_TEST

START_TEST(directions)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter r, w;
	char junk[4096] = { 0 };

	while (send(sv[0], junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	fib_iom_publish(s, &r, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_publish(s, &w, FIB_EV_WRITE, false, fib_iom_begin(s));
	fib_iom_poll(0);
	ck_assert(!fib_load(&r.woken, acquire));
	ck_assert(!fib_load(&w.woken, acquire));
	while (recv(sv[1], junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	fib_iom_poll(0);
	ck_assert(!fib_load(&r.woken, acquire));
	ck_assert(fib_load(&w.woken, acquire));
	fib_iom_retract(&r);
}
END_TEST

static void hang_up(int how)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter r;

	fib_iom_publish(s, &r, FIB_EV_READ, false, fib_iom_begin(s));
	if (how < 0)
		close(sv[1]);
	else
		shutdown(sv[1], how);
	fib_iom_poll(0);
	ck_assert(fib_load(&r.woken, acquire));
	/* from here on a short read proves nothing */
	ck_assert(s->untrusted);
	ck_assert_int_eq(take(sv[0]), 0);
}

START_TEST(hup)
{
	hang_up(-1);
}
END_TEST

START_TEST(rdhup)
{
	hang_up(SHUT_WR);
}
END_TEST

/* The reader of a pipe goes: its writer sees ERR, and no OUT. */
START_TEST(err_wakes_writer)
{
	struct fib_waiter w;
	struct fib_fd *s;
	char junk[4096] = { 0 };
	int p[2];

	unit_start(1);
	ck_assert_int_eq(pipe2(p, O_NONBLOCK), 0);
	s = fib_fd_get(p[1]);
	while (write(p[1], junk, sizeof(junk)) > 0)
		;
	fib_iom_publish(s, &w, FIB_EV_WRITE, false, fib_iom_begin(s));
	fib_iom_poll(0);
	ck_assert(!fib_load(&w.woken, acquire));
	close(p[0]);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}
END_TEST

START_TEST(what_epoll_refuses)
{
	struct fib_waiter w;
	char name[] = "/tmp/fib-unit-XXXXXX";
	int fd;

	unit_start(1);
	fd = mkstemp(name);
	unlink(name);
	ck_assert_int_eq(
		fib_iom_publish(fib_fd_get(fd), &w, FIB_EV_READ, false, 0),
		-EPERM);
	close(fd);
	ck_assert_int_eq(
		fib_iom_publish(fib_fd_get(fd), &w, FIB_EV_READ, false, 0),
		-EBADF);
	ck_assert_int_eq(fib_iom_publish(fib_fd_get(fib_sched.iom.epfd), &w,
					 FIB_EV_READ, false, 0),
			 -EINVAL);
}
END_TEST

/* An event of the file that had the number before wakes nobody. */
START_TEST(generation)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	int keep, fresh[2];
	uint32_t was = s->generation;
	struct fib_waiter w;

	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	/* the file stays open elsewhere, so epoll keeps it */
	keep = dup(sv[0]);
	fib_iom_forget(s, false);
	ck_assert_uint_ne(s->generation, was);
	ck_assert(!s->registered);
	close(sv[0]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fresh), 0);
	ck_assert_int_eq(fresh[0], sv[0]);
	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_poll(0);
	put(1);
	fib_iom_poll(0);
	ck_assert(!fib_load(&w.woken, acquire));
	ck_assert_int_eq(send(fresh[1], "x", 1, 0), 1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
	close(keep);
}
END_TEST

/* Closed and opened anew as the same file, behind our back. */
START_TEST(same_file_again)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	int keep;

	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	keep = dup(sv[0]);
	fib_iom_forget(s, false);
	close(sv[0]);
	ck_assert_int_eq(dup2(keep, sv[0]), sv[0]);
	ck_assert_int_eq(
		fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s)),
		0);
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}
END_TEST

START_TEST(forget_shared)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	int keep = dup(sv[0]);

	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	fib_iom_poll(0);
	fib_iom_forget(s, true);
	close(sv[0]);
	put(1);
	ck_assert_uint_eq(fib_iom_poll(0), 0);
	close(keep);
}
END_TEST

/* Somebody called between the farewell and the close, on the old file. */
START_TEST(registered_while_closing)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter late, w;
	uint32_t was;
	int fresh[2];

	fib_iom_forget(s, true);
	was = fib_load(&s->files, relaxed);
	ck_assert_int_eq(
		fib_iom_publish(s, &late, FIB_EV_READ, false, fib_iom_begin(s)),
		0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fresh), 0);
	ck_assert_int_eq(dup2(fresh[0], sv[0]), sv[0]);
	fib_iom_closed(s);
	/* it tries again, and the number's new file is a stranger */
	ck_assert(fib_load(&late.woken, acquire));
	ck_assert_uint_ne(fib_load(&s->files, relaxed), was);
	ck_assert_int_eq(
		fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s)),
		0);
	ck_assert_int_eq(send(fresh[1], "x", 1, 0), 1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}
END_TEST

/* And one that came after the others were moved out. */
START_TEST(waits_while_closing)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter late, o;

	fib_iom_publish(s, &o, FIB_EV_READ, true, 0);
	fib_iom_evict(s, fib_iom_refuge(s));
	fib_iom_publish(s, &late, FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_forget(s, true);
	close(sv[0]);
	fib_iom_closed(s);
	ck_assert(fib_load(&late.woken, acquire));
	fib_iom_retract(&o);
}
END_TEST

/* Who waits while the descriptor is closed gets the data all the same. */
START_TEST(evict)
{
	struct fib_fd *s = start(SOCK_DGRAM), *to;
	struct fib_waiter w[2], o;
	int fd = sv[0];

	for (int i = 0; i < 2; i++)
		fib_iom_publish(s, &w[i], FIB_EV_READ, false, fib_iom_begin(s));
	fib_iom_publish(s, &o, FIB_EV_READ, true, 0);
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
	fib_iom_pass(to, FIB_EV_READ);
	fib_iom_guest_leave(to);
	ck_assert(fib_load(&w[1].woken, acquire));
	ck_assert(fib_fd_is_ours(to->fd));
	ck_assert_int_eq(take(to->fd), -EAGAIN);
	fib_iom_guest_leave(to);
	ck_assert(!fib_fd_is_ours(to->fd));
	ck_assert_int_eq(fcntl(to->fd, F_GETFD), -1);
	fib_iom_retract(&o);
}
END_TEST

/*
 * One call of two holds on to the file. Both come too late to be moved; the end
 * of the close tells the first of them, which goes where its file is.
 */
START_TEST(who_follows_its_file_tells_the_next)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_io io = FIB_IO(s, FIB_EV_READ, &fib_io_timed);
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
	ck_assert_int_eq(fib_iom_publish(s, &own, FIB_EV_READ, false, io.seq),
			 0);
	ck_assert_int_eq(
		fib_iom_publish(s, &other, FIB_EV_READ, false, io.seq), 0);
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
END_TEST

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
START_TEST(first_try_holds_late)
{
	struct fib_fd *s = start(SOCK_DGRAM), *to;
	uint32_t closes_then = fib_iom_enter(s);
	struct fib_hold hold;
	pthread_t t;

	pthread_create(&t, NULL, closes, s);
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
END_TEST

/* The close and the call may both have made a duplicate: one is enough. */
START_TEST(moved_by_both)
{
	struct fib_fd *s = start(SOCK_DGRAM), *mine, *to;
	struct fib_hold hold;
	pthread_t t;

	ck_assert(fib_iom_hold(s, &hold, fib_load(&s->closes, relaxed)));
	ck_assert_ptr_eq(fib_iom_try(&hold), s);
	mine = fib_iom_refuge(s);
	pthread_create(&t, NULL, closes, s);
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
END_TEST

START_TEST(evict_nobody)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter o;

	fib_iom_publish(s, &o, FIB_EV_READ, true, 0);
	fib_iom_evict(s, fib_iom_refuge(s));
	ck_assert_ptr_eq(fib_load(&o.slot, acquire), s);
	fib_iom_retract(&o);
}
END_TEST

START_TEST(claims)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq;

	ck_assert(fib_iom_claim(s, FIB_EV_READ));
	ck_assert(fib_iom_claim(s, FIB_EV_WRITE));
	fib_iom_release(s, FIB_EV_WRITE);
	seq = fib_iom_begin(s);
	ck_assert(!fib_iom_claim(s, FIB_EV_READ));
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 0);
	fib_iom_release(s, FIB_EV_READ);
	ck_assert(fib_load(&w.woken, acquire));
	/* released between the failing claim and the publication */
	ck_assert(fib_iom_claim(s, FIB_EV_READ));
	seq = fib_iom_begin(s);
	ck_assert(!fib_iom_claim(s, FIB_EV_READ));
	fib_iom_release(s, FIB_EV_READ);
	/* and somebody else has come and gone */
	fib_iom_begin(s);
	ck_assert(fib_iom_claim(s, FIB_EV_READ));
	fib_iom_release(s, FIB_EV_READ);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_EV_READ, false, seq), 1);
}
END_TEST

/* A read that fell short is no proof any more once an edge came. */
START_TEST(short_read_is_outdated)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter w;
	uint32_t turn;

	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	turn = fib_add(&s->reads, 2, seq_cst) + 2;
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
	/* what began before the edge may not say short after it */
	ck_assert(!atomic_compare_exchange_strong(&s->reads, &turn, turn | 1));
	/* and what has said so is taken back */
	fib_or(&s->reads, 1, relaxed);
	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	put(1);
	fib_iom_poll(0);
	ck_assert(!(fib_load(&s->reads, relaxed) & 1));
}
END_TEST

START_TEST(hidden)
{
	struct rlimit lim;
	int fd, ours;

	getrlimit(RLIMIT_NOFILE, &lim);
	fd = eventfd(0, 0);
	ours = fib_fd_hide(fd);
	ck_assert_int_ge(ours, (int)lim.rlim_cur - 64);
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

/* The poll really sleeps, and an event ends it. */
static void *put_later(void *arg)
{
	while (!fib_load(&fib_sched.nidle, acquire))
		;
	put(1);
	return NULL;
}

START_TEST(sleeps_until_an_event)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	pthread_t t;

	fib_iom_publish(s, &w, FIB_EV_READ, false, fib_iom_begin(s));
	pthread_create(&t, NULL, put_later, NULL);
	while (!fib_load(&w.woken, acquire))
		fib_park();
	pthread_join(t, NULL);
	ck_assert_int_eq(take(sv[0]), 1);
}
END_TEST

TCase *unit_iom(void)
{
	TCase *t = tcase_create("iom");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, slots);
	tcase_add_test(t, edge_wakes);
	tcase_add_test(t, edge_before_publish);
	tcase_add_test(t, edge_used_by_another);
	tcase_add_test(t, edge_given_to_another);
	tcase_add_test(t, pass_wakes_the_next);
	tcase_add_test(t, observers);
	tcase_add_test(t, directions);
	tcase_add_test(t, hup);
	tcase_add_test(t, rdhup);
	tcase_add_test(t, err_wakes_writer);
	tcase_add_test(t, what_epoll_refuses);
	tcase_add_test(t, generation);
	tcase_add_test(t, same_file_again);
	tcase_add_test(t, forget_shared);
	tcase_add_test(t, registered_while_closing);
	tcase_add_test(t, waits_while_closing);
	tcase_add_test(t, evict);
	tcase_add_test(t, who_follows_its_file_tells_the_next);
	tcase_add_test(t, first_try_holds_late);
	tcase_add_test(t, moved_by_both);
	tcase_add_test(t, evict_nobody);
	tcase_add_test(t, claims);
	tcase_add_test(t, short_read_is_outdated);
	tcase_add_test(t, hidden);
	tcase_add_test(t, sleeps_until_an_event);
	return t;
}
