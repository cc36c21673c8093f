/* The IOManager: edges, hand-over, numbers that are closed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/unit/pair.h"

FIBER_TEST(slots, 1)
{
	ck_assert_ptr_null(fib_iom_peek(unit_scheduler, 70000));
	ck_assert_ptr_nonnull(fib_iom_slot(unit_scheduler, 70000));
	ck_assert_ptr_eq(fib_iom_peek(unit_scheduler, 70000),
			 fib_iom_slot(unit_scheduler, 70000));
	ck_assert_int_eq(fib_iom_slot(unit_scheduler, 70000)->fd, 70000);
	ck_assert_ptr_null(fib_iom_slot(unit_scheduler, -1));
	ck_assert_ptr_null(fib_iom_slot(unit_scheduler, 1 << 20));
	ck_assert_ptr_nonnull(fib_iom_slot(unit_scheduler, (1 << 20) - 1));
}

FIBER_TEST(edge_wakes, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq = fib_iom_begin(s);

	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 0);
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

FIBER_TEST(edge_before_publish, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq = fib_iom_begin(s);

	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 0);
	fib_iom_retract(&w);
	fib_iom_poll(0); /* writable */
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(1);
	fib_iom_poll(0);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 1);
	/* an edge that came before the try is no news */
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 0);
	fib_iom_retract(&w);
}

/*
 * One edge, food for two. Who tried before it and publishes after it must not
 * wait, even where another one has begun a call of its own since.
 */
FIBER_TEST(edge_used_by_another, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq;

	seq = fib_iom_begin(s);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 0);
	fib_iom_retract(&w);
	fib_iom_poll(0);
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(2);
	fib_iom_poll(0);
	fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 1);
}

/* The same, where the edge went to one that was waiting already. */
FIBER_TEST(edge_given_to_another, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter first, w;
	uint32_t seq;

	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	ck_assert_int_eq(fib_iom_publish(s, &first, FIB_IO_READ, false, seq),
			 0);
	seq = fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), -EAGAIN);
	put(2);
	fib_iom_poll(0);
	ck_assert(fib_load(&first.woken, acquire));
	fib_iom_begin(s);
	ck_assert_int_eq(take(sv[0]), 1);
	fib_iom_pass(s, FIB_IO_READ);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 1);
}

FIBER_TEST(pass_wakes_the_next, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w[3];

	for (int i = 0; i < 3; i++) {
		uint32_t seq = fib_iom_begin(s);

		ck_assert_int_eq(
			fib_iom_publish(s, &w[i], FIB_IO_READ, false, seq), 0);
	}
	put(3);
	fib_iom_poll(0);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(fib_load(&w[k].woken, acquire),
					 k > i ? 0 :
					 !k    ? FIB_WOKEN_FOR_IT :
						 FIB_WOKEN_ON);
		ck_assert_int_eq(take(sv[0]), 1);
		fib_iom_pass(s, FIB_IO_READ);
	}
}

FIBER_TEST(observers, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w[2], o[2];

	for (int i = 0; i < 2; i++) {
		fib_iom_publish(s, &w[i], FIB_IO_READ, false, fib_iom_begin(s));
		fib_iom_publish(s, &o[i], FIB_IO_READ, true, 0);
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

FIBER_TEST(directions, 1)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter r, w;
	char junk[4096] = { 0 };

	while (send(sv[0], junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	fib_iom_publish(s, &r, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_publish(s, &w, FIB_IO_WRITE, false, fib_iom_begin(s));
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

static void hang_up(int how)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter r;

	fib_iom_publish(s, &r, FIB_IO_READ, false, fib_iom_begin(s));
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

FIBER_TEST(hup, 1)
{
	hang_up(-1);
}

FIBER_TEST(rdhup, 1)
{
	hang_up(SHUT_WR);
}

/* The reader of a pipe goes: its writer sees ERR, and no OUT. */
FIBER_TEST(err_wakes_writer, 1)
{
	struct fib_waiter w;
	struct fib_fd *s;
	char junk[4096] = { 0 };
	int p[2];

	ck_assert_int_eq(pipe2(p, O_NONBLOCK), 0);
	s = fib_fd_get(p[1]);
	while (write(p[1], junk, sizeof(junk)) > 0)
		;
	fib_iom_publish(s, &w, FIB_IO_WRITE, false, fib_iom_begin(s));
	fib_iom_poll(0);
	ck_assert(!fib_load(&w.woken, acquire));
	close(p[0]);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}

FIBER_TEST(what_epoll_refuses, 1)
{
	struct fib_waiter w;
	char name[] = "/tmp/fib-unit-XXXXXX";
	int fd;

	fd = mkstemp(name);
	unlink(name);
	ck_assert_int_eq(
		fib_iom_publish(fib_fd_get(fd), &w, FIB_IO_READ, false, 0),
		-EPERM);
	close(fd);
	ck_assert_int_eq(
		fib_iom_publish(fib_fd_get(fd), &w, FIB_IO_READ, false, 0),
		-EBADF);
	ck_assert_int_eq(fib_iom_publish(fib_fd_get(unit_scheduler->iom.epfd),
					 &w, FIB_IO_READ, false, 0),
			 -EINVAL);
}

/* An event of the file that had the number before wakes nobody. */
FIBER_TEST(generation, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	int keep, fresh[2];
	uint32_t was = s->generation;
	struct fib_waiter w;

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	/* the file stays open elsewhere, so epoll keeps it */
	keep = dup(sv[0]);
	fib_iom_forget(s, false);
	ck_assert_uint_ne(s->generation, was);
	ck_assert(!s->registered);
	close(sv[0]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fresh), 0);
	ck_assert_int_eq(fresh[0], sv[0]);
	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_poll(0);
	put(1);
	fib_iom_poll(0);
	ck_assert(!fib_load(&w.woken, acquire));
	ck_assert_int_eq(send(fresh[1], "x", 1, 0), 1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
	close(keep);
}

/* Closed and opened anew as the same file, behind our back. */
FIBER_TEST(same_file_again, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	int keep;

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	keep = dup(sv[0]);
	fib_iom_forget(s, false);
	close(sv[0]);
	ck_assert_int_eq(dup2(keep, sv[0]), sv[0]);
	ck_assert_int_eq(
		fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s)),
		0);
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}

FIBER_TEST(forget_shared, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	int keep = dup(sv[0]);

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	fib_iom_retract(&w);
	fib_iom_poll(0);
	fib_iom_forget(s, true);
	close(sv[0]);
	put(1);
	ck_assert_uint_eq(fib_iom_poll(0), 0);
	close(keep);
}

/* Somebody called between the farewell and the close, on the old file. */
FIBER_TEST(registered_while_closing, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter late, w;
	uint32_t was;
	int fresh[2];

	fib_iom_forget(s, true);
	was = fib_load(&s->files, relaxed);
	ck_assert_int_eq(
		fib_iom_publish(s, &late, FIB_IO_READ, false, fib_iom_begin(s)),
		0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, fresh), 0);
	ck_assert_int_eq(dup2(fresh[0], sv[0]), sv[0]);
	fib_iom_closed(s);
	/* it tries again, and the number's new file is a stranger */
	ck_assert(fib_load(&late.woken, acquire));
	ck_assert_uint_ne(fib_load(&s->files, relaxed), was);
	ck_assert_int_eq(
		fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s)),
		0);
	ck_assert_int_eq(send(fresh[1], "x", 1, 0), 1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
}

FIBER_TEST(claims, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	uint32_t seq;

	ck_assert(fib_iom_claim(s, FIB_IO_READ));
	ck_assert(fib_iom_claim(s, FIB_IO_WRITE));
	fib_iom_release(s, FIB_IO_WRITE);
	seq = fib_iom_begin(s);
	ck_assert(!fib_iom_claim(s, FIB_IO_READ));
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 0);
	fib_iom_release(s, FIB_IO_READ);
	ck_assert(fib_load(&w.woken, acquire));
	/* released between the failing claim and the publication */
	ck_assert(fib_iom_claim(s, FIB_IO_READ));
	seq = fib_iom_begin(s);
	ck_assert(!fib_iom_claim(s, FIB_IO_READ));
	fib_iom_release(s, FIB_IO_READ);
	/* and somebody else has come and gone */
	fib_iom_begin(s);
	ck_assert(fib_iom_claim(s, FIB_IO_READ));
	fib_iom_release(s, FIB_IO_READ);
	ck_assert_int_eq(fib_iom_publish(s, &w, FIB_IO_READ, false, seq), 1);
}

/* A read that fell short is no proof any more once an edge came. */
FIBER_TEST(short_read_is_outdated, 1)
{
	struct fib_fd *s = start(SOCK_STREAM);
	struct fib_waiter w;
	uint32_t turn;

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	turn = fib_add(&s->reads, 2, seq_cst) + 2;
	put(1);
	fib_iom_poll(0);
	ck_assert(fib_load(&w.woken, acquire));
	/* what began before the edge may not say short after it */
	ck_assert(!atomic_compare_exchange_strong(&s->reads, &turn, turn | 1));
	/* and what has said so is taken back */
	fib_or(&s->reads, 1, relaxed);
	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	put(1);
	fib_iom_poll(0);
	ck_assert(!(fib_load(&s->reads, relaxed) & 1));
}

/* The poll really sleeps, and an event ends it. */
static void *put_later(void *arg)
{
	while (!fib_load(&unit_scheduler->nidle, acquire))
		;
	put(1);
	return NULL;
}

FIBER_TEST(sleeps_until_an_event, 1)
{
	struct fib_fd *s = start(SOCK_DGRAM);
	struct fib_waiter w;
	pthread_t t;

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	unit_thread(&t, put_later, NULL);
	while (!fib_load(&w.woken, acquire))
		fib_park();
	pthread_join(t, NULL);
	ck_assert_int_eq(take(sv[0]), 1);
}

/*
 * What is ready stays in epoll, for whoever comes first, until a worker has run
 * half of what it has. Not where it looks behind long turns as well (runq.h): one may be
 * long since another process has the processor.
 */
#define CROWD	   600
#define QUEUED_MAX 256

static struct unit_group waiting, served;
static uint32_t queued_most;

static void one_of_crowd(void *arg)
{
	int fd = (int)(long)arg;
	struct fib_fd *s = fib_iom_slot(unit_scheduler, fd);
	struct fib_waiter w;
	uint32_t seq = fib_iom_begin(s), queued;
	uint64_t n;

	fib_assert(fib_iom_publish(s, &w, FIB_IO_READ, false, seq) == 0);
	unit_group_done(&waiting);
	while (!fib_load(&w.woken, acquire))
		fib_park();
	queued = fib_load(&fib_worker_self()->queued, relaxed);
	if (queued > queued_most)
		queued_most = queued;
	fib_assert(fib_raw(SYS_read, fd, &n, sizeof(n)) == sizeof(n));
	unit_group_done(&served);
}

FIBER_TEST(leaves_events_to_others, 1)
{
	uint64_t one = 1;
	int fd[CROWD];

	unit_group_init(&waiting, CROWD);
	unit_group_init(&served, CROWD);
	for (int i = 0; i < CROWD; i++) {
		fd[i] = eventfd(0, 0);
		ck_assert_int_ge(fd[i], 0);
		unit_go(one_of_crowd, (void *)(long)fd[i]);
	}
	unit_group_wait(&waiting);
	for (int i = 0; i < CROWD; i++)
		ck_assert_int_eq(write(fd[i], &one, sizeof(one)), 8);
	unit_group_wait(&served);
	ck_assert_uint_gt(queued_most, 0);
	ck_assert_uint_le(queued_most, QUEUED_MAX);
}

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
	tcase_add_test(t, claims);
	tcase_add_test(t, short_read_is_outdated);
	tcase_add_test(t, sleeps_until_an_event);
	if (!FIB_HOST_CPU_TIME)
		tcase_add_test(t, leaves_events_to_others);
	return t;
}
