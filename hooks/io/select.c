/* select and pselect6. */
#include <fcntl.h>
#include <sys/select.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/io/many.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/timer.h"

#define SET_WORDS (FD_SETSIZE / 64)

struct select_args {
	int n;
	uint64_t *user[3]; /* the program's sets */
	uint64_t *want[3]; /* what it asked for */
	uint64_t *set[3];  /* what the kernel says */
	size_t words;
	bool began; /* it was asked once, and all of them were open */
};

/* Three sets in each half of @room. */
static void place_sets(struct select_args *a, uint64_t *room)
{
	for (size_t i = 0; i < 3; i++) {
		a->want[i] = room + i * a->words;
		a->set[i] = room + (i + 3) * a->words;
	}
}

/*
 * The kernel is asked with copies, lest the program see its sets change before
 * there is an answer for it.
 */
static long select_now(const struct select_args *a)
{
	struct timespec zero = { 0, 0 };
	long arg[3];

	for (int i = 0; i < 3; i++) {
		arg[i] = a->user[i] ? (long)a->set[i] : 0;
		memcpy(a->set[i], a->want[i], a->words * 8);
	}
	return fib_raw(SYS_pselect6, a->n, arg[0], arg[1], arg[2], &zero, 0);
}

/* The bit of @fd in set @i, if the program asked for it and the number is closed. */
static uint64_t closed_bit(const struct select_args *a, int i, int fd)
{
	uint64_t bit = 1ull << fd % 64;

	return a->user[i] && (a->want[i][fd / 64] & bit) &&
			       fib_raw(SYS_fcntl, fd, F_GETFD) < 0 ?
		       bit :
		       0;
}

/*
 * A number that is closed meanwhile is in each of do_select()'s sets (EPOLLNVAL):
 * EBADF is for who begins with one.
 */
static long select_closed(const struct select_args *a)
{
	struct timespec zero = { 0, 0 };
	long arg[3], r;

	for (int i = 0; i < 3; i++) {
		arg[i] = a->user[i] ? (long)a->set[i] : 0;
		memcpy(a->set[i], a->want[i], a->words * 8);
	}
	for (int fd = 0; fd < a->n; fd++)
		for (int i = 0; i < 3; i++)
			a->set[i][fd / 64] &= ~closed_bit(a, i, fd);
	r = fib_raw(SYS_pselect6, a->n, arg[0], arg[1], arg[2], &zero, 0);
	for (int fd = 0; fd < a->n && r >= 0; fd++) {
		for (int i = 0; i < 3; i++) {
			uint64_t bit = closed_bit(a, i, fd);

			r += bit && !(a->set[i][fd / 64] & bit);
			a->set[i][fd / 64] |= bit;
		}
	}
	return r;
}

static long select_answer(const struct select_args *a, long r)
{
	for (int i = 0; i < 3; i++)
		if (a->user[i] && fib_copy(a->user[i], a->set[i], a->words * 8))
			return -EFAULT;
	return r;
}

static long ask_select(void *arg)
{
	struct select_args *a = arg;
	long r = select_now(a);

	while (r == -EBADF && a->began)
		r = select_closed(a);
	a->began = true;
	return r > 0 ? select_answer(a, r) : r;
}

static unsigned select_watches(const struct select_args *a, struct fib_watch *w)
{
	unsigned n = 0;

	for (int fd = 0; fd < a->n; fd++) {
		static const short bits[] = { POLLIN | POLLHUP | POLLERR,
					      POLLOUT | POLLERR, POLLPRI };
		uint8_t ev = 0;
		short want = 0;

		for (int i = 0; i < 3; i++) {
			if (!a->user[i] ||
			    !(a->want[i][fd / 64] >> fd % 64 & 1))
				continue;
			ev |= i == 1 ? FIB_IO_WRITE : FIB_IO_READ;
			want |= bits[i];
		}
		if (!ev)
			continue;
		if (w) {
			w[n].fd = fd;
			w[n].want = want;
			w[n].events = ev;
		}
		n++;
	}
	return n;
}

static long select_in_kernel(int n, void *r, void *w, void *x,
			     uint64_t deadline_ns)
{
	struct timespec ts;
	long ret = fib_signal_mask_open();

	if (ret == 0)
		ret = fib_blocking(
			SYS_pselect6,
			(long[6]){ n, (long)r, (long)w, (long)x,
				   fib_time_left(deadline_ns, &ts) });
	fib_io_tells(ret);
	return ret == -EINTR ? -FIB_ERESTARTNOHAND : ret;
}

/* Nothing is ready, and the time is over. */
static long clear_sets(const struct select_args *a)
{
	static const uint64_t none[SET_WORDS];

	for (size_t at = 0, n; at < a->words; at += n) {
		n = a->words - at < SET_WORDS ? a->words - at : SET_WORDS;
		for (int i = 0; i < 3; i++)
			if (a->user[i] &&
			    fib_copy(a->user[i] + at, none, n * 8))
				return -EFAULT;
	}
	return 0;
}

/* Ask, of those @n that are watched from now on. */
static long watch_select(const struct select_args *a, struct fib_many *m,
			 struct fib_watch *few, unsigned n)
{
	if (!fib_many_room(m, few, n)) {
		m->pages = 0;
		return -ENOMEM;
	}
	select_watches(a, m->watch);
	return fib_many_ask(m);
}

/* @room, if any, holds the sets, and is given back. */
static long wait_select(struct select_args *a, uint64_t deadline_ns, void *room,
			size_t size)
{
	struct fib_many m = { .ask = ask_select,
			      .arg = a,
			      .deadline_ns = deadline_ns,
			      .also = room,
			      .also_size = size };
	struct fib_watch few[FIB_FEW];
	unsigned n = deadline_ns ? select_watches(a, NULL) : 0;
	bool at_once = deadline_ns && n <= FIB_FEW;
	long r;

	m.none = deadline_ns && n == 0 && !fib_filtered();
	/* Pages for many are taken when there is no answer yet. */
	r = at_once ? watch_select(a, &m, few, n) : ask_select(a);
	if (r == 0)
		r = fib_signal_mask_open();
	if (r == 0 && deadline_ns && !at_once)
		r = watch_select(a, &m, few, n);
	if (r == 0 && deadline_ns) {
		/* Also where nobody was asked: what is quiet is open. */
		a->began = true;
		r = fib_many_wait(&m);
	} else {
		fib_many_free(&m);
	}
	return r ? r : clear_sets(a);
}

/*
 * The kernel looks at no more of a set than there may be descriptors now. Where
 * the rest cannot be read, or there is no memory, it waits itself.
 */
static long select_many(struct select_args *a, uint64_t deadline_ns)
{
	size_t size = a->words * 8 * 6;
	uint64_t *room = fib_pages_alloc(size);
	int i = 0;

	if (!room)
		return -ENOMEM;
	place_sets(a, room);
	while (i < 3 &&
	       (!a->user[i] || !fib_copy(a->want[i], a->user[i], a->words * 8)))
		i++;
	if (i == 3)
		return wait_select(a, deadline_ns, room, size);
	fib_pages_free(room, size);
	return -ENOMEM;
}

static long do_select(int n, void *r, void *w, void *x, uint64_t deadline_ns)
{
	struct select_args a = { .n = n,
				 .user = { r, w, x },
				 .words = ((size_t)n + 63) / 64 };
	uint64_t few[6 * SET_WORDS];
	struct timespec zero = { 0, 0 };
	long ret = -ENOMEM;
	/* A mask has to be looked at, before the sets are cleared. */
	bool at_once = deadline_ns == 0 && !fib_self()->hook.restore_mask;

	if (at_once && n >= 0 && !r && !w && !x && !fib_filtered())
		return 0;
	if (at_once || n < 0) {
		ret = fib_raw(SYS_pselect6, n, r, w, x, &zero, 0);
		fib_io_tells(ret);
		return ret;
	}
	if (fib_self()->call.own_files || n > (int)FIB_FD_MAX ||
	    fib_many_is_for_kernel())
		return select_in_kernel(n, r, w, x, deadline_ns);
	if (n > FD_SETSIZE) {
		ret = select_many(&a, deadline_ns);
	} else {
		place_sets(&a, few);
		for (int i = 0; i < 3; i++)
			if (a.user[i] &&
			    fib_copy(a.want[i], a.user[i], a.words * 8))
				return -EFAULT;
		ret = wait_select(&a, deadline_ns, NULL, 0);
	}
	return ret == -ENOMEM ? select_in_kernel(n, r, w, x, deadline_ns) : ret;
}

long fib_sys_select(int n, void *r, void *w, void *x, struct timeval *tv)
{
	uint64_t deadline = FIB_NEVER, left;
	struct timeval copy;
	long ret;

	if (tv) {
		if (fib_copy(&copy, tv, sizeof(copy)))
			return -EFAULT;
		/* As kern_select() of the kernel, and as it overflows. */
		copy.tv_sec = (time_t)((uint64_t)copy.tv_sec +
				       (uint64_t)(copy.tv_usec / 1000000));
		copy.tv_usec %= 1000000;
		if (copy.tv_sec < 0 || copy.tv_usec < 0)
			return -EINVAL;
		left = fib_timeval_ns(&copy);
		deadline = left ? fib_deadline_in(left) : 0;
	}
	ret = do_select(n, r, w, x, deadline);
	if (tv && deadline) {
		left = fib_ns_left(fib_poll_goes_on(deadline, ret));
		copy.tv_sec = (time_t)(left / FIB_NSEC_PER_SEC);
		copy.tv_usec = (suseconds_t)(left % FIB_NSEC_PER_SEC / 1000);
		fib_copy(tv, &copy, sizeof(copy));
	}
	return ret;
}

long fib_sys_pselect6(int n, void *r, void *w, void *x, struct timespec *ts,
		      const void *mask)
{
	struct {
		const uint64_t *mask;
		size_t size;
	} sig = { NULL, 0 };
	uint64_t deadline;
	long ret;

	if (mask && fib_copy(&sig, mask, sizeof(sig)))
		return -EFAULT;
	ret = fib_poll_deadline(ts, &deadline);
	if (ret == 0)
		ret = fib_poll_mask(sig.mask, sig.size);
	if (ret)
		return ret;
	ret = do_select(n, r, w, x, deadline);
	fib_poll_left(ts, fib_poll_goes_on(deadline, ret));
	return ret;
}
