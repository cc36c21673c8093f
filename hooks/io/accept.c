/*
 * accept, by one thread or by several.
 *
 * Who parks tries by io_uring, which does not wait and tells whether it has taken the
 * last connection (runtime/uring_try.c), or by poll and the call (fib_io_polled()).
 * What is known of the queue is in the lowest bit of the slot's reads, as after a
 * short read (runtime/iom.h):
 *
 *	unknown	  try. Nothing: take the number, park. A connection, and others are
 *		  left: hand the wake-up on; unknown. It was the last one: empty, if
 *		  no edge came, and no other try began, since this one did
 *	empty	  take the number and park; an edge, or its number's next file:
 *		  unknown
 *
 * Whoever else takes connections (another process, another number, the kernel for who
 * lives there) makes the queue emptier, and nothing is made of that. O_NONBLOCK and
 * limits are looked at before it parks, and what ends the listener is an edge.
 * tests/model/next.pml has this for spin.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/io/io.h"
#include "hooks/wait/wait.h"
#include "hooks/wait/way.h"
#include "runtime/aside.h"
#include "runtime/bare.h"
#include "runtime/chaos.h"
#include "runtime/reserved.h"
#include "runtime/timer.h"

bool fib_io_listens_by_kernel(int fd)
{
	int val = 0, len = sizeof(val);

	fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &val, &len);
	return val;
}

/* Others get their error at once, and poll would never say so. */
bool fib_io_listens(struct fib_known *k)
{
	bool listens;

	if (fib_likely(fib_fd_listens(k)))
		return true;
	listens = fib_io_listens_by_kernel(k->fd);
	if (listens)
		fib_fd_set_listens(k, true);
	return listens;
}

/* --- several go over to the kernel --------------------------------------------- */

/*
 * Parked, a connection is a number, epoll_wait, the call, dup3 and close, and some polls
 * where io_uring does not make it. The kernel does all that in one call, on a thread that
 * may block: one of its own, if the caller lives here (epoll.c). Of several who take
 * turns one waits nearly always, so they would never all begin anew, and choose that.
 * So they go over while they wait: when all of them would rather be there, the one
 * who comes next, the conductor, has them go, in the order in which they wait.
 *
 *	conductor				who is parked
 *	---------				-------------
 *	enters (wait/way.h): n
 *	slot lock: n - 1 wait, all keen,
 *	  none with a number above mine?
 *	  turn = BEGUN; n -> -n		(A)
 *	  no event is for them any more
 *	for each, by turns:
 *	  turn = BEGUN; wake the first	(B)	sees -n: binds itself
 *	  wait until turn is a thread	(C)	turn = its kernel thread, if it is BEGUN
 *	    and that sleeps, or DONE		its number is free; accept4 (D)
 *						turn = DONE, if it is this one's
 *	turn = LAST | its own thread	(E)
 *	its number is free; accept4
 *	turn = 0, if it is (E)'s
 *
 * Who comes after (A) is to be in the kernel, behind all these: it waits until turn
 * is 0, or the thread of (E) sleeps.
 *
 * Who sleeps after (C) is in the kernel's queue, or has been served. Numbers: all
 * below the conductor's, the lowest that is free, are taken, so that each finds the
 * one that it gives back. (Who else makes or closes a descriptor in that instant may
 * change that.) One that does not come, as it is cancelled or the machine has no time
 * for it, is waited for no longer than STEP_NS; it leaves turn alone when it comes.
 * tests/model/over.pml has this for spin.
 */
#define TURN_BEGUN (-1)
#define TURN_DONE  (-2)
#define TURN_LAST  (1 << 30) /* above all ids of kernel threads */
#define STEP_NS	   1000000000ull
#define NAP_NS	   20000

static bool sleeps(int tid)
{
	char state = fib_thread_state(tid);

	return state != 'R' && state != 'D';
}

static int own_tid(void)
{
	return fib_load(&fib_worker_self()->tid, relaxed);
}

/*
 * How many of @n who have entered, the caller not counted, are not parked; -1: some
 * may not go over. Their numbers are below @below, both plus 1.
 */
static int missing_locked(struct fib_known *k, int n, int below)
{
	int unbound = 1;

	fib_list_for_each (it, &k->slot->waiters) {
		const struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);
		const struct fib_in_io *io = &w->fib->io;

		if (!w->events)
			continue;
		if (w->observer || io->way != &k->acceptors || !io->keen ||
		    !io->reserved || io->reserved > below)
			return -1;
		unbound += !w->fib->bound;
		n--;
	}
	return unbound > fib_loops_left() + 1 ? -1 : n - 1;
}

static int missing(struct fib_known *k, int n, int below)
{
	int r;

	fib_lock(&k->slot->lock);
	r = missing_locked(k, n, below);
	fib_unlock(&k->slot->lock);
	return r;
}

/* (A) */
static bool begin(struct fib_known *k, int n)
{
	bool r;

	fib_lock(&k->slot->lock);
	r = missing_locked(k, n, fib_self()->io.reserved) == 0;
	if (r) {
		fib_store(&k->turn, TURN_BEGUN, seq_cst);
		r = fib_way_turn(&k->acceptors, n);
	}
	if (r)
		fib_iom_mute_locked(k->slot);
	else
		fib_store(&k->turn, 0, relaxed);
	fib_unlock(&k->slot->lock);
	return r;
}

static void nap(struct fib_known *k, int seen, uint64_t ns)
{
	struct timespec ts = fib_timespec(ns);

	fib_raw(SYS_futex, &k->turn, FUTEX_WAIT_PRIVATE, seen, &ts);
}

/* (C), (D) */
static void await_one(struct fib_known *k)
{
	uint64_t until = fib_now_ns() + STEP_NS;
	int seen = TURN_BEGUN;

	while (fib_load(&k->turn, acquire) == seen && fib_now_ns() < until)
		nap(k, seen, STEP_NS / 100);
	seen = fib_load(&k->turn, acquire);
	while (seen > 0 && !sleeps(seen) && fib_now_ns() < until &&
	       fib_load(&k->turn, acquire) == seen)
		nap(k, seen, NAP_NS);
}

static void give_number(void)
{
	struct fib *f = fib_self();

	if (f->io.reserved)
		fib_reserved_free(f->io.reserved - 1);
	f->io.reserved = 0;
}

static bool take_number(void)
{
	int at = fib_reserved_take();

	if (at >= 0)
		fib_self()->io.reserved = at + 1;
	return at >= 0;
}

/* The caller parks, as others do: all of them go over, if they may. */
static bool conduct(struct fib_known *k)
{
	struct fib *f = fib_self();
	int n = fib_load(&k->acceptors, relaxed), gone;

	if (n < 2 || fib_filtered() || (gone = missing(k, n, INT_MAX)) < 0)
		return false;
	/* To one of them the caller has just handed a wake-up on. */
	if (gone) {
		fib_sched_yield();
		n = fib_load(&k->acceptors, relaxed);
		if (missing(k, n, INT_MAX))
			return false;
	}
	if (!take_number() || missing(k, n, f->io.reserved))
		return false;
	/* A thread may take its time to come, and who has a number is in line. */
	if (!f->bound) {
		give_number();
		if (!fib_io_loops(false) || !take_number())
			return false;
	}
	if (!begin(k, fib_load(&k->acceptors, relaxed)))
		return false;
	n = -fib_load(&k->acceptors, relaxed);
	while (--n) {
		FIB_CHAOS_POINT(accept_turn);
		fib_store(&k->turn, TURN_BEGUN, seq_cst);
		if (!fib_iom_wake_reader(k->slot)) /* (B) */
			break;
		await_one(k);
	}
	fib_store(&k->turn, TURN_LAST | own_tid(), seq_cst); /* (E) */
	return true;
}

static bool turned(const void *arg)
{
	const struct fib_known *k = arg;

	return !fib_load(&k->turn, acquire);
}

static void __attribute__((noinline, cold)) await_turn(struct fib_known *k)
{
	uint64_t until = fib_now_ns() + STEP_NS;
	int turn;

	while ((turn = fib_load(&k->turn, acquire))) {
		if (turn > TURN_LAST &&
		    (sleeps(turn & ~TURN_LAST) || fib_now_ns() >= until))
			fib_cas(&k->turn, &turn, 0, seq_cst);
		else if (fib_park_until(turned, k, fib_now_ns() + 5 * NAP_NS,
					FIB_WAIT_FD, (uint64_t)k->fd) == -EINTR)
			fib_sched_yield();
	}
}

/* --- accept -------------------------------------------------------------------- */

/* The number that was reserved is free: the kernel takes it. */
static long accept_in_kernel(struct fib_known *k, const long a[6])
{
	give_number();
	fib_io_disarm(k->slot);
	return fib_io_in_kernel(k, FIB_IO_READ, false, SYS_accept4, a);
}

/* The conductor has woken the caller. (C) */
static long go_over(struct fib_known *k, const struct fib_io *io,
		    const long a[6])
{
	int tid, begun = TURN_BEGUN;
	long r;

	fib_io_loops(false);
	tid = own_tid();
	fib_cas(&k->turn, &begun, tid, seq_cst);
	fib_raw(SYS_futex, &k->turn, FUTEX_WAKE_PRIVATE, 1);
	FIB_CHAOS_POINT(accept_over);
	if (!fib_io_lost(io))
		r = accept_in_kernel(k, a); /* (D) */
	else
		r = io->closes & FIB_CLOSING ? -FIB_ERESTARTNOINTR : -EBADF;
	fib_cas(&k->turn, &tid, TURN_DONE, seq_cst);
	return r;
}

/*
 * Its number is reserved once it waits. If that was the last one, there is none for
 * accept4() itself, and it has to do with the reserved one; where the limit has been lowered
 * below that, there is none at all, but what the kernel finds first is that nobody listens.
 */
static long accept_waiting(struct fib_known *k, const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	struct fib *f = fib_self();
	int at, cloexec = (a[3] & SOCK_CLOEXEC) ? O_CLOEXEC : 0;
	bool had = false;
	int begun = TURN_BEGUN;
	long r;

	io.opens = true;
	for (;;) {
		r = fib_io_polled(&io, 0, SYS_accept4, a);
		if (r == -FIB_IO_GOES_OVER)
			r = go_over(k, &io, a);
		else if (fib_unlikely(fib_way_is_kernel()))
			fib_cas(&k->turn, &begun, TURN_DONE, seq_cst);
		at = f->io.reserved - 1;
		f->io.reserved = 0;
		if (at < 0 && r == -EMFILE && had &&
		    !fib_io_listens_by_kernel(k->fd))
			return -EINVAL;
		if (at < 0)
			return r;
		if (r >= 0)
			return fib_reserved_fill(at, (int)r, cloexec);
		fib_reserved_free(at);
		if (r != -EMFILE)
			return r;
		had = true;
		io = FIB_HOOK_IO(k, FIB_IO_READ);
		io.opens = true;
	}
}

/* Many who park are to go on so: they would need a kernel thread each. */
static void note_crowd(struct fib_known *k)
{
	int n = fib_load(&k->acceptors, relaxed);

	if (n > fib_load(&k->crowd, relaxed))
		fib_store(&k->crowd, n, relaxed);
}

/* A limit is counted from the call's beginning, so it parks. */
static long accept_in_turn(struct fib_known *k, const long a[6])
{
	struct fib *f = fib_self();
	int n = fib_load(&k->acceptors, relaxed);
	bool keen = fib_io_would_loop() &&
		    fib_fd_limit(k, FIB_IO_READ) == FIB_NEVER;
	bool few = f->bound || fib_load(&k->crowd, relaxed) <= fib_loops_left();
	bool likes = keen && (n < 0 || (n == 0 && few)) && fib_io_loops(false);
	int turn;
	long r;

	f->io.keen = keen;
	if (fib_way_enter(&k->acceptors, likes)) {
		if (fib_unlikely(fib_load(&k->turn, seq_cst)))
			await_turn(k);
		r = accept_in_kernel(k, a);
	} else if (keen && conduct(k)) {
		turn = TURN_LAST | own_tid();
		r = accept_in_kernel(k, a);
		fib_cas(&k->turn, &turn, 0, seq_cst);
	} else {
		note_crowd(k);
		r = accept_waiting(k, a);
	}
	fib_way_leave(f);
	return r;
}

long fib_sys_accept4(int fd, void *addr, int *addrlen, int flags)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)addr, (long)addrlen, flags };
	uint32_t files;
	long r;

	if (!k || !fib_io_listens(k) ||
	    (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)))
		return fib_pass(SYS_accept4, a);
	files = fib_load(&k->slot->files, acquire);
	if (!fib_fd_seems_nonblock(k) ||
	    !fib_io_as_it_is(k, SYS_accept4, a, &r))
		r = fib_fd_nonblock(k) ? fib_pass(SYS_accept4, a) :
					 accept_in_turn(k, a);
	if (r >= 0)
		fib_fd_accepted(
			(int)r,
			fib_load(&k->slot->files, acquire) == files ? k : NULL,
			flags);
	return r;
}

long fib_sys_accept(int fd, void *addr, int *addrlen)
{
	long r = fib_sys_accept4(fd, addr, addrlen, 0);

	if (fib_unlikely(fib_is_denied(r)))
		r = fib_io_own(SYS_accept,
			       (long[6]){ fd, (long)addr, (long)addrlen });
	return r;
}
