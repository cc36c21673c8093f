/* The runtime's own descriptors, see hidden.h. */
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <time.h>
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"
#include "runtime/reserved.h"
#include "runtime/sched.h" /* FIB_FD_MAX */

#define OURS_MAX 4096

/* The descriptors that are ours. Few, long-lived, rarely changed. */
static _Atomic int ours[OURS_MAX] FIB_LARGE;
static _Atomic uint32_t ours_top;      /* none of ours is behind */
static _Atomic int ours_low FIB_START = INT_MAX; /* none of ours is below */
/* One in reserve, for fib_iom_evict() while the table is full; -1: in use. */
static _Atomic int reserve = -1;

#define MOVABLE 8

bool fib_fd_exposed;
static int *movable[MOVABLE];
static struct fib_lock move_lock = FIB_LOCK(MOVE);
static _Atomic uint32_t turn, users[2];

/*
 * How many of ours there is room for; and from where on. A table of descriptors is as large
 * as its highest number asks for, and each fork copies that: with one near 20000 it took
 * half as long again, and a limit of a million is usual in containers. So they begin at
 * 1024, which select() cannot name, and beyond a limit only if that is not much higher.
 * Of FEW in all none is set apart.
 */
#define REACH	   32
#define REACH_MOST 4096
#define HIGH	   1024
#define FEW	   64

/*
 * Where the numbers begin that only a raised limit gives; 0: not now. And the limit that
 * is in force meanwhile, since nobody else is there to change it.
 */
static rlim_t reach_from, reach_limit;

void fib_fd_reach(bool begin)
{
	struct rlimit lim = { 0, 0 };

	reach_limit = 0;
	if (!begin && !reach_from)
		return;
	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	if (begin && lim.rlim_cur < lim.rlim_max &&
	    lim.rlim_cur <= REACH_MOST) {
		reach_from = lim.rlim_cur;
		lim.rlim_cur = lim.rlim_max < reach_from + REACH ?
				       lim.rlim_max :
				       reach_from + REACH;
		if (fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, 0) < 0) {
			lim.rlim_cur = reach_from;
			reach_from = 0;
		}
	} else if (!begin) {
		lim.rlim_cur = reach_from;
		reach_from = 0;
		fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, 0);
	}
	if (begin)
		reach_limit = lim.rlim_cur;
}

/* How many numbers there may be. */
static rlim_t limit(void)
{
	struct rlimit lim = { .rlim_cur = 1024 };

	if (reach_limit)
		return reach_limit;
	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	return lim.rlim_cur;
}

bool fib_fd_has_reach(void)
{
	return reach_from || limit() > FEW;
}

/* A duplicate of @fd, out of the way; -errno. */
static long dup_high(int fd)
{
	long d = reach_from ?
			 fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, reach_from) :
			 -EMFILE;
	rlim_t most;

	if (d >= 0)
		return d;
	most = limit();
	if (most > HIGH + REACH)
		most = HIGH + REACH;
	return most > FEW ?
		       fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, most - REACH) :
		       -EMFILE;
}

/* The same, and if it must be, among those that the program gets: the last ones. */
static long dup_away(int fd)
{
	long d = dup_high(fd);
	rlim_t at;

	if (d >= 0)
		return d;
	at = limit();
	if (at > FEW)
		at = 0;
	while (d < 0 && at > (rlim_t)fd + 1)
		d = fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, --at);
	return d < 0 ? fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd) : d;
}

/* False: there is no room to remember it. */
static bool note_ours(int fd)
{
	int low = fib_load(&ours_low, relaxed);

	while (fd < low && !fib_cas(&ours_low, &low, fd, relaxed))
		;
	for (unsigned i = 0; i < OURS_MAX; i++) {
		uint32_t top = fib_load(&ours_top, relaxed);
		int none = 0;

		if (fib_load(&ours[i], relaxed))
			continue;
		while (i >= top && !fib_cas(&ours_top, &top, i + 1, seq_cst))
			;
		if (fib_cas(&ours[i], &none, fd, seq_cst))
			return true;
	}
	return false;
}

int fib_fd_hide(int fd)
{
	long high = fd < 0 ? -1 : dup_high(fd);

	if (high >= 0) {
		fib_raw(SYS_close, fd);
		fd = (int)high;
	}
	if (fd >= 0) {
		note_ours(fd);
		if (!reach_from)
			fib_fd_exposed = true;
	}
	return fd;
}

int fib_fd_dup_hidden(int fd)
{
	long d = dup_away(fd);
	int spare;

	if (d >= 0) {
		if (note_ours((int)d))
			return (int)d;
		fib_raw(SYS_close, d);
	}
	/* It is known as ours already. */
	spare = fib_xchg(&reserve, -1, seq_cst);
	if (spare < 0)
		return -EMFILE;
	d = fib_raw(SYS_dup3, fd, spare, O_CLOEXEC);
	if (d < 0)
		fib_store(&reserve, spare, seq_cst);
	return (int)d;
}

void fib_fd_spare_renew(int of)
{
	int spare = fib_load(&reserve, relaxed), none = -1;

	if (spare >= 0 && (rlim_t)spare < limit())
		return;
	fib_fd_spare_drop();
	spare = fib_fd_dup_hidden(of);
	if (spare >= 0 && !fib_cas(&reserve, &none, spare, seq_cst))
		fib_fd_unhide(spare);
}

void fib_fd_spare_drop(void)
{
	fib_fd_unhide(fib_xchg(&reserve, -1, seq_cst));
}

void fib_fd_give_back(int fd, int of)
{
	int none = -1;

	if (fib_load(&reserve, relaxed) < 0 &&
	    fib_raw(SYS_dup3, of, fd, O_CLOEXEC) >= 0 &&
	    fib_cas(&reserve, &none, fd, seq_cst))
		return;
	fib_fd_unhide(fd);
}

void fib_fd_leave_hidden(void)
{
	fib_reserved_leave();
	for (unsigned i = 0; i < fib_load(&ours_top, relaxed); i++)
		fib_store(&ours[i], 0, relaxed);
}

/* Mostly they stand in a row. */
static void close_row(unsigned first, unsigned last)
{
	if (last > first && !fib_raw(SYS_close_range, first, last, 0))
		return;
	for (unsigned fd = first; fd <= last; fd++)
		fib_raw(SYS_close, fd);
}

/* The lowest from @fd on; UINT_MAX: none. (What is reserved is a table of its own.) */
static unsigned lowest_of_ours(unsigned fd)
{
	unsigned low = UINT_MAX;

	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++) {
		unsigned o = (unsigned)fib_load(&ours[i], relaxed);

		if (o && o >= fd && o < low)
			low = o;
	}
	return low;
}

void fib_fd_close_hidden(bool rows)
{
	unsigned first = lowest_of_ours(0), last;

	fib_reserved_reset();
	fib_store(&reserve, -1, relaxed);
	fib_lock_init(&move_lock, MOVE);
	fib_store(&users[0], 0, relaxed);
	fib_store(&users[1], 0, relaxed);
	fib_fd_exposed = false;
	for (; first != UINT_MAX; first = lowest_of_ours(last + 1)) {
		last = first;
		while (rows && lowest_of_ours(last + 1) == last + 1)
			last++;
		close_row(first, last);
	}
	for (unsigned i = 0; i < fib_load(&ours_top, relaxed); i++)
		fib_store(&ours[i], 0, relaxed);
}

void fib_fd_lose(int fd)
{
	for (unsigned i = 0; fd > 0 && i < fib_load(&ours_top, acquire); i++) {
		int want = fd;

		if (fib_cas(&ours[i], &want, 0, seq_cst))
			break;
	}
}

void fib_fd_yield(int fd)
{
	int spare = fd;

	if (fd >= 0 && fib_cas(&reserve, &spare, -1, seq_cst))
		fib_fd_lose(fd);
}

bool fib_fd_is_hidden(int fd)
{
	if (fd < fib_load(&ours_low, relaxed))
		return false;
	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++)
		if (fib_load(&ours[i], relaxed) == fd)
			return true;
	return false;
}

bool fib_fd_is_ours(int fd)
{
	return fib_is_reserved(fd) || fib_fd_is_hidden(fd);
}

unsigned fib_fd_next_of_ours(unsigned fd)
{
	unsigned next = lowest_of_ours(fd);

	if (fd < next) {
		unsigned o = fib_reserved_next(fd, next);

		next = o < next ? o : next;
	}
	return next;
}

/* --- numbers that the program asks for ------------------------------------------ */

void fib_fd_movable(int *number)
{
	unsigned i = 0;

	while (i < MOVABLE && movable[i] && movable[i] != number)
		i++;
	if (i < MOVABLE)
		movable[i] = number;
}

unsigned fib_fd_use_slow(void)
{
	for (;;) {
		uint32_t t = fib_load(&turn, seq_cst);

		fib_add(&users[t & 1], 1, seq_cst); /* (A) */
		FIB_CHAOS_POINT(fd_use);
		if (fib_load(&turn, seq_cst) == t)
			return t & 1;
		fib_sub(&users[t & 1], 1, seq_cst);
	}
}

void fib_fd_used_slow(unsigned use)
{
	fib_sub(&users[use], 1, seq_cst);
}

static void kick_sleepers(struct fib_sched *s)
{
	for (uint32_t i = 0; i < fib_load(&s->workers, acquire); i++)
		if (fib_load(&s->worker[i]->idle, relaxed))
			fib_host.kick(s->worker[i]);
	fib_host.kick(NULL);
}

/* (B) */
static void await_users(struct fib_sched *s)
{
	_Atomic uint32_t *old = &users[fib_add(&turn, 1, seq_cst) & 1];
	struct timespec ts = { 0, 50000 };
	uint32_t n;

	while ((n = fib_load(old, seq_cst))) {
		kick_sleepers(s);
		fib_raw(SYS_futex, old, FUTEX_WAIT_PRIVATE, n, &ts);
	}
}

static long another_number(int fd)
{
	long d = dup_away(fd);

	return d < 0 ? fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3) : d;
}

static bool move(int *number, int fd)
{
	struct fib_sched *s = fib_sched_here();
	long to = another_number(fd);

	if (to < 0)
		return false;
	if (!note_ours((int)to)) {
		fib_raw(SYS_close, to);
		return false;
	}
	if (number == &s->iom.wakefd)
		fib_iom_bell_moves(s, (int)to);
	fib_store(fib_shared(number), (int)to, seq_cst);
	await_users(s);
	fib_fd_lose(fd);
	return true;
}

bool fib_fd_move_away(int fd)
{
	bool done = false;

	if (!fib_fd_exposed || !fib_host.kick)
		return false;
	fib_lock(&move_lock);
	for (unsigned i = 0; i < MOVABLE && movable[i] && !done; i++)
		if (fib_load(fib_shared(movable[i]), relaxed) == fd)
			done = move(movable[i], fd);
	fib_unlock(&move_lock);
	return done;
}

void fib_fd_unhide(int fd)
{
	if (fd < 0)
		return;
	fib_fd_lose(fd);
	fib_raw(SYS_close, fd);
}
