/*
 * Waiting for many descriptors: poll and select.
 *
 * The kernel is asked without waiting; if nothing is ready, the fiber becomes
 * an observer of every descriptor, asks once more (an edge between the two
 * would be lost), parks, and asks again after each wake-up. The kernel alone
 * decides what is ready, so that the results are its own.
 */
#include <fcntl.h>
#include <sys/select.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/timer.h"
#include "runtime/trywait.h"

#define FEW 16

struct watch {
	struct fib_waiter w;
	struct fib_fd *s; /* of the number */
	int fd;
	short want; /* as poll says it */
	uint8_t events;
	bool published;
};

struct many {
	struct watch *watch;
	unsigned n;
	size_t pages;		/* bytes of watch that are ours to give back */
	long (*ask)(void *arg); /* > 0 or -errno: an answer; 0: nothing yet */
	void *arg;
	uint64_t deadline_ns;
	void *also; /* more pages of ours */
	size_t also_size;
};

static void give_back(struct many *m)
{
	if (m->pages)
		fib_pages_free(m->watch, m->pages);
	if (m->also)
		fib_pages_free(m->also, m->also_size);
}

static struct fib_fd *place(const struct watch *x)
{
	return fib_load(&x->w.slot, acquire);
}

/* Its number was closed: it waits for the file by another one. */
static bool is_away(const struct watch *x)
{
	return x->published && place(x) != x->s;
}

/* It is published no more. */
static void left(struct watch *x)
{
	if (is_away(x))
		fib_iom_guest_leave(place(x));
	x->published = false;
}

static bool publish_all(struct many *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		struct watch *x = &m->watch[i];
		struct fib_fd *s;
		int r;

		if (x->published && !fib_load(&x->w.woken, acquire))
			continue;
		left(x);
		x->s = s = fib_fd_get(x->fd);
		if (!s)
			return false;
		r = fib_iom_observe(s, &x->w, x->events);
		if (r == 0)
			x->published = true;
		else if (r != -EPERM && r != -EBADF)
			return false;
	}
	return true;
}

static bool any_woken(const void *arg)
{
	const struct many *m = arg;

	for (unsigned i = 0; i < m->n; i++)
		if (m->watch[i].published &&
		    fib_load(&m->watch[i].w.woken, acquire))
			return true;
	return false;
}

/*
 * do_poll() and do_select() have all files from the beginning of the call to its
 * end, and look by number when one of them has woken them up: a number that is
 * closed by then is POLLNVAL. So where one is, the wake-up has to be of the kind that
 * the kernel would have sent. Who is woken for nothing watches on, where it is.
 */
static bool is_nothing(struct many *m)
{
	bool away = false;

	for (unsigned i = 0; i < m->n && !away; i++)
		away = is_away(&m->watch[i]);
	for (unsigned i = 0; i < m->n && away; i++) {
		struct watch *x = &m->watch[i];
		struct fib_fd *s;

		if (!x->published || !fib_load(&x->w.woken, acquire))
			continue;
		s = place(x);
		if (fib_iom_observe(s, &x->w, x->events)) {
			left(x);
			return false;
		}
		if (fib_io_ready(s->fd, x->want))
			return false;
	}
	return away;
}

static long wait_many(struct many *m)
{
	long r;

	fib_cancel_begin();
	for (;;) {
		if (!publish_all(m)) {
			r = -ENOMEM;
			break;
		}
		r = m->ask(m->arg);
		if (r)
			break;
		do
			r = fib_park_until(any_woken, m, m->deadline_ns,
					   FIB_WAIT_POLL, m->n);
		while (r == 0 && is_nothing(m));
		/* A cancel comes before what came after it. */
		if (r == 0 && fib_unlikely(fib_cancel_is_near()))
			r = -EINTR;
		if (r == -ETIMEDOUT) {
			r = m->ask(m->arg);
			break;
		}
		if (r == -EINTR && !fib_cancel_is_near()) {
			r = m->ask(m->arg);
			if (r == 0)
				r = -EINTR;
		}
		if (r)
			break;
	}
	for (unsigned i = 0; i < m->n; i++) {
		if (m->watch[i].published)
			fib_iom_retract(&m->watch[i].w);
		left(&m->watch[i]);
	}
	give_back(m);
	if (r < 0)
		fib_cancel_end();
	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

/* Room for @n watches: @few, or pages that wait_many() gives back. */
static bool make_room(struct many *m, struct watch *few, size_t n)
{
	m->watch = few;
	m->n = (unsigned)n;
	memset(few, 0, FEW * sizeof(*few));
	if (n <= FEW)
		return true;
	m->pages = n * sizeof(*few);
	m->watch = fib_pages_alloc(m->pages);
	return m->watch;
}

/* --- poll ---------------------------------------------------------------- */

struct poll_args {
	struct pollfd *fds;
	unsigned n;
};

static long ask_poll(void *arg)
{
	const struct poll_args *p = arg;

	return fib_raw(SYS_poll, p->fds, p->n, 0);
}

/* No memory here, or epoll has none. */
static long poll_in_kernel(struct pollfd *fds, unsigned n,
			   uint64_t deadline_ns)
{
	struct timespec ts;
	long r = fib_blocking(SYS_ppoll,
			      (long[6]){ (long)fds, (long)n,
					 fib_time_left(deadline_ns, &ts) });

	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

#define POLL_CHUNK 32u

/* Which to watch: those with a negative number are only skipped. */
static bool poll_watches(struct many *m, const struct pollfd *fds, unsigned n)
{
	struct pollfd p[POLL_CHUNK];

	m->n = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = i % POLL_CHUNK, left = n - i;
		struct watch *x = &m->watch[m->n];
		short e;

		if (k == 0 && fib_copy(p, &fds[i],
				       (left < POLL_CHUNK ? left : POLL_CHUNK) *
					       sizeof(*p)))
			return false;
		if (p[k].fd < 0)
			continue;
		e = p[k].events;
		x->fd = p[k].fd;
		x->want = e;
		if (e & (POLLOUT | POLLWRNORM | POLLWRBAND))
			x->events |= FIB_IO_WRITE;
		if (!x->events || (e & (POLLIN | POLLPRI | POLLRDNORM |
					POLLRDBAND | POLLRDHUP)))
			x->events |= FIB_IO_READ;
		m->n++;
	}
	return true;
}

static long do_poll(struct pollfd *fds, unsigned n, uint64_t deadline_ns)
{
	struct poll_args args = { fds, n };
	struct watch few[FEW];
	struct many m = { .ask = ask_poll,
			  .arg = &args,
			  .deadline_ns = deadline_ns };
	long r = ask_poll(&args);

	if (r == 0)
		r = fib_signal_mask_open();
	/* A vector that cannot be written is EFAULT when there is an answer. */
	if (r == -EFAULT && deadline_ns)
		return poll_in_kernel(fds, n, deadline_ns);
	if (r || deadline_ns == 0)
		return r;
	if (fib_self()->thread.own_files || !make_room(&m, few, n))
		return poll_in_kernel(fds, n, deadline_ns);
	if (!poll_watches(&m, fds, n)) {
		if (m.pages)
			fib_pages_free(m.watch, m.pages);
		return -EFAULT;
	}
	r = wait_many(&m);
	return r == -ENOMEM ? poll_in_kernel(fds, n, deadline_ns) : r;
}

long fib_sys_poll(struct pollfd *fds, unsigned n, int timeout_ms)
{
	uint64_t deadline = FIB_NEVER;

	if (timeout_ms == 0)
		deadline = 0;
	else if (timeout_ms > 0)
		deadline = fib_deadline_in((uint64_t)timeout_ms * 1000000);
	return do_poll(fds, n, deadline);
}

/*
 * The mask of ppoll and its like. As in the kernel, descriptors are looked at
 * before signals: if one is ready, what the mask lets in stays pending.
 */
long fib_poll_mask(const uint64_t *mask, size_t size)
{
	uint64_t set;

	if (!mask)
		return 0;
	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, mask, sizeof(set)))
		return -EFAULT;
	fib_signal_mask_later(set);
	return 0;
}

long fib_poll_deadline(const struct timespec *ts, uint64_t *deadline)
{
	int64_t ns;

	*deadline = FIB_NEVER;
	if (!ts)
		return 0;
	ns = fib_timespec_ns(ts);
	if (ns < 0)
		return ns;
	*deadline = ns == 0 ? 0 : fib_deadline_in((uint64_t)ns);
	return 0;
}

static void store_left(struct timespec *ts, uint64_t deadline)
{
	if (ts && deadline != FIB_NEVER && deadline != 0)
		fib_timespec_put(ts, fib_ns_left(deadline));
}

long fib_sys_ppoll(struct pollfd *fds, unsigned n, struct timespec *ts,
		   const uint64_t *mask, size_t size)
{
	uint64_t deadline;
	long r = fib_poll_deadline(ts, &deadline);

	if (r == 0)
		r = fib_poll_mask(mask, size);
	if (r)
		return r;
	r = do_poll(fds, n, deadline);
	store_left(ts, deadline);
	return r;
}

/* --- select -------------------------------------------------------------- */

#define SET_WORDS (FD_SETSIZE / 64)

struct select_args {
	int n;
	uint64_t *user[3]; /* the program's sets */
	uint64_t *want[3]; /* what it asked for */
	uint64_t *set[3];  /* what the kernel says */
	size_t words;
	bool began;
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
		if (a->user[i] &&
		    fib_copy(a->user[i], a->set[i], a->words * 8))
			return -EFAULT;
	return r;
}

static long ask_select(void *arg)
{
	const struct select_args *a = arg;
	long r = select_now(a);

	while (r == -EBADF && a->began)
		r = select_closed(a);
	return r > 0 ? select_answer(a, r) : r;
}

static unsigned select_watches(const struct select_args *a, struct watch *w)
{
	unsigned n = 0;

	for (int fd = 0; fd < a->n; fd++) {
		static const short bits[] = { POLLIN, POLLOUT, POLLPRI };
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
		ret = fib_blocking(SYS_pselect6,
				   (long[6]){ n, (long)r, (long)w, (long)x,
					      fib_time_left(deadline_ns,
							    &ts) });
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

/* @room, if any, holds the sets, and is given back. */
static long wait_select(struct select_args *a, uint64_t deadline_ns, void *room,
			size_t size)
{
	struct many m = { .ask = ask_select,
			  .arg = a,
			  .deadline_ns = deadline_ns,
			  .also = room,
			  .also_size = size };
	struct watch few[FEW];
	long r = ask_select(a);

	if (r == 0)
		r = fib_signal_mask_open();
	if (r == 0 && !make_room(&m, few, select_watches(a, NULL))) {
		m.pages = 0;
		r = -ENOMEM;
	}
	if (r) {
		give_back(&m);
		return r;
	}
	select_watches(a, m.watch);
	a->began = true;
	r = wait_many(&m);
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
	while (i < 3 && (!a->user[i] ||
			 !fib_copy(a->want[i], a->user[i], a->words * 8)))
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
	if (deadline_ns == 0 && fib_self()->hook.restore_mask)
		deadline_ns = 1;
	if (deadline_ns == 0 || n < 0)
		return fib_raw(SYS_pselect6, n, r, w, x, &zero, 0);
	if (fib_self()->thread.own_files || n > (int)FIB_FD_MAX)
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
		left = fib_ns_left(deadline);
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
	store_left(ts, deadline);
	return ret;
}
