/*
 * Channels: see fib.h; who waits: channel.h.
 *
 * A ring of values under one lock, and two lists of those who wait. A value
 * goes from hand to hand where somebody waits: a sender copies it straight to
 * the first receiver, so that nobody who comes later can take it away, and
 * who was woken need not look again. Therefore
 *
 *	receivers wait	only while the ring is empty and no sender waits
 *	senders wait	only while the ring is full and no receiver waits
 *
 * but for those whose wait is over already. The lock is never held across a park.
 */
#include <stdlib.h>
#include "libfib/channel.h"

int fib_channel_create(struct fib_channel **out, size_t size, size_t capacity)
{
	struct fib_channel *c;
	size_t bytes;

	if (!out || !size)
		return -EINVAL;
	if (__builtin_mul_overflow(size, capacity, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*c), &bytes))
		return -ENOMEM;
	c = malloc(bytes);
	if (!c)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->size = size;
	c->capacity = capacity;
	fib_lock_init(&c->lock, CHANNEL);
	fib_list_init(&c->senders);
	fib_list_init(&c->receivers);
	*out = c;
	return 0;
}

int fib_channel_destroy(struct fib_channel *c)
{
	bool busy;

	if (!c)
		return -EINVAL;
	fib_lock(&c->lock);
	busy = !fib_list_empty(&c->senders) || !fib_list_empty(&c->receivers);
	fib_unlock(&c->lock);
	if (busy)
		return -EBUSY;
	free(c);
	return 0;
}

static inline void copy(void *to, const void *from, size_t n)
{
	if (n == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else
		memcpy(to, from, n);
}

static void put_locked(struct fib_channel *c, const void *value)
{
	size_t count = fib_load(&c->count, relaxed);
	size_t tail = c->head + count;

	if (tail >= c->capacity)
		tail -= c->capacity;
	copy(c->ring + tail * c->size, value, c->size);
	fib_store(&c->count, count + 1, relaxed);
}

static void take_locked(struct fib_channel *c, void *value)
{
	copy(value, c->ring + c->head * c->size, c->size);
	if (++c->head == c->capacity)
		c->head = 0;
	fib_store(&c->count, fib_load(&c->count, relaxed) - 1, relaxed);
}

/* The first whose wait can be had, which it is then: (T), (U). */
static struct fib_party *first_locked(struct fib_list *list)
{
	fib_list_for_each (it, list) {
		struct fib_party *p =
			fib_container_of(it, struct fib_party, link);
		int open = FIB_OFFER_OPEN;

		if (!fib_cas(&p->wait->claim, &open, p->index + 1, acquire))
			continue;
		fib_list_del(&p->link);
		return p;
	}
	return NULL;
}

/* (W) */
static void settle(struct fib_party *p, int result)
{
	p->wait->result = result;
	fib_parker_wake(&p->wait->parker);
}

bool fib_offer_leave(struct fib_offer *w)
{
	int open = FIB_OFFER_OPEN;

	if (fib_cas(&w->claim, &open, FIB_OFFER_LEFT, acquire))
		return true;
	fib_parker_wait_woken(&w->parker);
	return false;
}

static int send_locked(struct fib_channel *c, const void *value)
{
	struct fib_party *other;

	if (c->closed)
		return -EPIPE;
	other = first_locked(&c->receivers);
	if (other) {
		copy(other->value, value, c->size);
		settle(other, 0);
	} else if (fib_load(&c->count, relaxed) < c->capacity) {
		put_locked(c, value);
	} else {
		return -EAGAIN;
	}
	return 0;
}

static int recv_locked(struct fib_channel *c, void *value)
{
	bool had = fib_load(&c->count, relaxed);
	struct fib_party *other;

	if (had)
		take_locked(c, value);
	other = first_locked(&c->senders);
	if (other) {
		if (had)
			put_locked(c, other->value);
		else
			copy(value, other->value, c->size);
		settle(other, 0);
	} else if (!had) {
		return c->closed ? -EPIPE : -EAGAIN;
	}
	return 0;
}

int fib_channel_try_locked(struct fib_channel *c, void *value, bool send)
{
	return send ? send_locked(c, value) : recv_locked(c, value);
}

void fib_channel_join_locked(struct fib_channel *c, struct fib_party *p,
			     bool send)
{
	fib_list_add_tail(send ? &c->senders : &c->receivers, &p->link);
}

/* Called with the lock, returns without. */
static int wait_unlock(struct fib_channel *c, void *value, bool send,
		       uint64_t timeout_ns)
{
	struct fib_offer w;
	struct fib_party me = { .wait = &w, .value = value };
	int r;

	if (timeout_ns == 0) {
		fib_unlock(&c->lock);
		return -ETIMEDOUT;
	}
	fib_offer_init(&w);
	fib_channel_join_locked(c, &me, send);
	fib_unlock(&c->lock);
	r = fib_parker_wait(&w.parker, fib_deadline(timeout_ns));
	if (r == 0 || !fib_offer_leave(&w))
		return w.result;
	fib_lock(&c->lock);
	fib_list_del(&me.link);
	fib_unlock(&c->lock);
	return r;
}

int fib_channel_send(struct fib_channel *c, const void *value,
		     uint64_t timeout_ns)
{
	int r;

	if (!c || !value)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	fib_lock(&c->lock);
	r = send_locked(c, value);
	if (r == -EAGAIN)
		return fib_called(
			wait_unlock(c, (void *)value, true, timeout_ns));
	fib_unlock(&c->lock);
	return r;
}

int fib_channel_recv(struct fib_channel *c, void *value, uint64_t timeout_ns)
{
	int r;

	if (!c || !value)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	fib_lock(&c->lock);
	r = recv_locked(c, value);
	if (r == -EAGAIN)
		return fib_called(wait_unlock(c, value, false, timeout_ns));
	fib_unlock(&c->lock);
	return r;
}

static void end_all_locked(struct fib_list *list)
{
	struct fib_party *p;

	while ((p = first_locked(list)))
		settle(p, -EPIPE);
}

/* Senders that wait have not sent; receivers wait only where nothing is left.
 */
int fib_channel_close(struct fib_channel *c)
{
	if (!c)
		return -EINVAL;
	fib_lock(&c->lock);
	c->closed = true;
	end_all_locked(&c->senders);
	end_all_locked(&c->receivers);
	fib_unlock(&c->lock);
	return 0;
}

size_t fib_channel_count(const struct fib_channel *c)
{
	return c ? fib_load(&c->count, relaxed) : 0;
}
