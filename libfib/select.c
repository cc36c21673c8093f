/*
 * fib_select(): one wait, with a party in each channel (channel.h) and a consumer
 * at each descriptor (iom.h). A channel's case is taken by whoever comes; those of
 * descriptors and of time take the wait for themselves, when they are ready:
 *
 *	publish the consumers	what comes from now on wakes
 *	poll			is a descriptor ready, or a time come?
 *	lock all channels	is one ready, of a case before that one? else a
 *				party into each, and unlock
 *	park
 *	  taken			it is a channel's case
 *	  a consumer was woken	publish it again, and poll; ready: (X)
 *	  time, cancelled	(X)
 *
 * A consumer that was woken has taken nothing: the next one is told in the end.
 */
#include <poll.h>
#include <stdlib.h>
#include "libfib/channel.h"
#include "runtime/iom.h"

#define FEW 8

/* What a case needs while it waits. */
struct seat {
	struct fib_party party;
	struct fib_waiter waiter;
	struct fib_fd *slot;
	uint32_t closes; /* of the number, when the call began */
	bool published;
	bool woken; /* ever: the next one is to be told */
};

struct choice {
	struct fib_offer offer;
	struct fib_case *cases;
	unsigned n;
	struct seat *seat;
	struct pollfd *fds; /* of those with descriptors; the others' are -1 */
	unsigned *order;    /* of those with channels, by address */
	unsigned channels;
	bool descriptors, joined;
	uint64_t deadline_ns;
};

static bool is_channel(const struct fib_case *c)
{
	return c->op == FIB_SELECT_RECV || c->op == FIB_SELECT_SEND;
}

static bool is_descriptor(const struct fib_case *c)
{
	return c->op == FIB_SELECT_READ || c->op == FIB_SELECT_WRITE;
}

static uint8_t event(const struct fib_case *c)
{
	return c->op == FIB_SELECT_READ ? FIB_IO_READ : FIB_IO_WRITE;
}

/* --- channels ------------------------------------------------------------------ */

static struct fib_channel *nth(const struct choice *x, unsigned i)
{
	return x->cases[x->order[i]].channel;
}

static void add_ordered(struct choice *x, unsigned k)
{
	unsigned i = x->channels++;

	while (i > 0 && nth(x, i - 1) > x->cases[k].channel) {
		x->order[i] = x->order[i - 1];
		i--;
	}
	x->order[i] = k;
}

/* (L) */
static void lock_all(const struct choice *x)
{
	for (unsigned i = 0; i < x->channels; i++)
		if (i == 0)
			fib_lock(&nth(x, i)->lock);
		else if (nth(x, i) != nth(x, i - 1))
			fib_lock_second(&nth(x, i)->lock);
}

static void unlock_all(const struct choice *x)
{
	for (unsigned i = x->channels; i-- > 0;)
		if (i == 0 || nth(x, i) != nth(x, i - 1))
			fib_unlock(&nth(x, i)->lock);
}

/* (R): the first before case @end that is ready, done. */
static int try_channels_locked(struct choice *x, unsigned end)
{
	for (unsigned i = 0; i < end; i++) {
		struct fib_case *c = &x->cases[i];
		int r;

		if (!is_channel(c))
			continue;
		r = fib_channel_try_locked(c->channel, c->value,
					   c->op == FIB_SELECT_SEND);
		if (r == -EAGAIN)
			continue;
		c->result = r;
		return (int)i;
	}
	return -EAGAIN;
}

static void join_locked(struct choice *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		struct fib_case *c = &x->cases[i];
		struct fib_party *p = &x->seat[i].party;

		if (!is_channel(c))
			continue;
		*p = (struct fib_party){ .wait = &x->offer,
					 .value = c->value,
					 .index = (int)i };
		fib_channel_join_locked(c->channel, p,
					c->op == FIB_SELECT_SEND);
	}
	x->joined = true;
}

/* The channel of the case that another has taken may be gone. */
static void part(struct choice *x)
{
	int taken = fib_load(&x->offer.claim, relaxed) - 1;

	for (unsigned i = 0; x->joined && i < x->n; i++) {
		struct fib_channel *c = x->cases[i].channel;

		if (!is_channel(&x->cases[i]) || (int)i == taken)
			continue;
		fib_lock(&c->lock);
		fib_list_del(&x->seat[i].party.link);
		fib_unlock(&c->lock);
	}
}

/* --- descriptors ----------------------------------------------------------------- */

/* EPERM: it is always ready. EBADF: as poll says, too. */
static int publish(struct choice *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		struct seat *s = &x->seat[i];
		int r;

		if (!s->slot)
			continue;
		if (s->published && !fib_load(&s->waiter.woken, acquire))
			continue;
		s->woken |= s->published;
		do
			r = fib_iom_publish(s->slot, &s->waiter,
					    event(&x->cases[i]), false,
					    fib_iom_begin(s->slot));
		while (r > 0);
		s->published = r == 0;
		if (r && r != -EPERM && r != -EBADF)
			return r;
	}
	return 0;
}

static void retract(struct choice *x)
{
	for (unsigned i = 0; x->descriptors && i < x->n; i++) {
		struct seat *s = &x->seat[i];

		if (!s->slot)
			continue;
		if (s->published) {
			fib_iom_retract(&s->waiter);
			s->woken |= fib_load(&s->waiter.woken, acquire);
		}
		if (s->woken)
			fib_iom_pass(s->slot, event(&x->cases[i]));
	}
}

/* Its number is another file's now, or nobody's. */
static bool lost(struct seat *s)
{
	uint32_t closes = fib_load(&s->slot->closes, relaxed);

	if (s->closes == closes)
		return false;
	if (!(s->closes & FIB_CLOSING))
		return true;
	s->closes = closes;
	return false;
}

/* The first case of descriptors and time that is ready; x->n: none. */
static unsigned ready(struct choice *x)
{
	uint64_t now = 0;

	if (x->descriptors)
		while (fib_raw(SYS_poll, x->fds, x->n, 0) == -EINTR)
			;
	for (unsigned i = 0; i < x->n; i++) {
		struct fib_case *c = &x->cases[i];

		c->result = 0;
		if (is_descriptor(c)) {
			if ((x->seat[i].slot && lost(&x->seat[i])) ||
			    (x->fds[i].revents & POLLNVAL))
				c->result = -EBADF;
			if (c->result || x->fds[i].revents)
				return i;
		} else if (c->op == FIB_SELECT_TIME) {
			now = now ? now : fib_now_ns();
			if (now >= c->at_ns)
				return i;
		}
	}
	return x->n;
}

/* --- waiting ---------------------------------------------------------------------- */

/* The case that is ready now, or -EAGAIN; @join: be in all channels then. */
static int look(struct choice *x, bool join)
{
	unsigned end = ready(x);
	int r;

	lock_all(x);
	r = try_channels_locked(x, end);
	if (r == -EAGAIN && end < x->n)
		r = (int)end;
	if (r == -EAGAIN && join)
		join_locked(x);
	unlock_all(x);
	return r;
}

static bool stirred(const void *arg)
{
	const struct choice *x = arg;

	if (fib_parker_woken(&x->offer.parker))
		return true;
	for (unsigned i = 0; x->descriptors && i < x->n; i++)
		if (x->seat[i].published &&
		    fib_load(&x->seat[i].waiter.woken, acquire))
			return true;
	return false;
}

static int pause_until(struct choice *x)
{
	int r;

	if (!x->offer.parker.fib)
		return fib_parker_wait(&x->offer.parker, x->deadline_ns);
	r = fib_park_until(stirred, x, x->deadline_ns, FIB_WAIT_TIME, 0);
	return r == -EINTR ? -ECANCELED : r;
}

/* In all channels: until a case is taken, or it is not to wait any more. */
static int wait_joined(struct choice *x)
{
	for (;;) {
		int r = pause_until(x);
		unsigned i = x->n;

		if (r == 0 && fib_parker_woken(&x->offer.parker))
			break;
		if (r == 0)
			r = publish(x);
		if (r == 0 || r == -ETIMEDOUT)
			i = ready(x);
		if (r == 0 && i == x->n)
			continue;
		if (!fib_offer_leave(&x->offer))
			break;
		return i < x->n ? (int)i : r;
	}
	return fib_load(&x->offer.claim, relaxed) - 1;
}

static int choose(struct choice *x, uint64_t timeout_ns)
{
	int r = look(x, false);

	if (r != -EAGAIN)
		return r;
	if (timeout_ns == 0)
		return -ETIMEDOUT;
	x->deadline_ns = fib_deadline(timeout_ns);
	for (unsigned i = 0; i < x->n; i++)
		if (x->cases[i].op == FIB_SELECT_TIME &&
		    x->cases[i].at_ns < x->deadline_ns)
			x->deadline_ns = x->cases[i].at_ns;
	fib_offer_init(&x->offer);
	r = x->descriptors ? publish(x) : 0;
	if (r == 0)
		r = look(x, true);
	if (r == -EAGAIN)
		r = wait_joined(x);
	retract(x);
	part(x);
	if (x->joined && r >= 0 && is_channel(&x->cases[r]))
		x->cases[r].result = x->offer.result;
	return r;
}

/* --- the call --------------------------------------------------------------------- */

static int check(const struct fib_case *cases, unsigned n)
{
	if (n > FIB_SELECT_MAX || (n && !cases))
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		const struct fib_case *c = &cases[i];

		if (c->op < FIB_SELECT_NONE || c->op > FIB_SELECT_TIME ||
		    (is_channel(c) && (!c->channel || !c->value)))
			return -EINVAL;
	}
	return 0;
}

static int prepare(struct choice *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		struct fib_case *c = &x->cases[i];
		struct seat *s = &x->seat[i];

		x->fds[i] = (struct pollfd){ .fd = -1 };
		s->slot = NULL;
		s->published = s->woken = false;
		if (is_channel(c))
			add_ordered(x, i);
		if (!is_descriptor(c))
			continue;
		/* One that cannot be is as one that is closed. */
		x->fds[i].fd =
			c->fd < 0 || c->fd >= (int)FIB_FD_MAX ? INT_MAX : c->fd;
		x->fds[i].events = c->op == FIB_SELECT_READ ? POLLIN : POLLOUT;
		x->descriptors = true;
		if (x->fds[i].fd == INT_MAX)
			continue;
		s->slot = fib_fd_get(c->fd);
		if (!s->slot)
			return -ENOMEM;
		s->closes = fib_load(&s->slot->closes, relaxed);
	}
	return 0;
}

static int select_here(struct fib_case *cases, unsigned n, uint64_t timeout_ns)
{
	struct seat few[FEW];
	struct pollfd fds[FEW];
	unsigned order[FEW];
	struct choice x = {
		.cases = cases, .n = n, .seat = few, .fds = fds, .order = order
	};
	void *memory = NULL;
	int r;

	if (n > FEW) {
		memory = malloc(n * (sizeof(*x.seat) + sizeof(*x.fds) +
				     sizeof(*x.order)));
		if (!memory)
			return -ENOMEM;
		x.seat = memory;
		x.fds = (struct pollfd *)(x.seat + n);
		x.order = (unsigned *)(x.fds + n);
	}
	r = prepare(&x);
	if (r == 0)
		r = choose(&x, timeout_ns);
	free(memory);
	return r;
}

/* A thread cannot wait for both kinds: a fiber of the service does. */
struct proxy {
	struct fib_case *cases;
	unsigned n;
	uint64_t timeout_ns;
	int result;
	struct fib_parker parker;
};

static void run_proxy(void *arg)
{
	struct proxy *p = arg;

	p->result = select_here(p->cases, p->n, p->timeout_ns);
	fib_parker_wake(&p->parker);
}

int fib_select(struct fib_case *cases, unsigned n, uint64_t timeout_ns)
{
	struct proxy p = { cases, n, timeout_ns, 0, { .fib = NULL } };
	struct fib_sched *service;
	bool descriptors = false;
	int r = check(cases, n);

	if (r)
		return r;
	if (fib_canceled_here())
		return -ECANCELED;
	for (unsigned i = 0; i < n; i++)
		descriptors |= is_descriptor(&cases[i]);
	if (!descriptors || fib_self())
		return select_here(cases, n, timeout_ns);
	service = fib_sched_service();
	if (!service)
		return -EAGAIN;
	fib_parker_init(&p.parker);
	r = fib_sched_submit(service, run_proxy, &p, FIB_ANY_THREAD);
	if (r)
		return r;
	fib_parker_wait_woken(&p.parker);
	return p.result;
}
