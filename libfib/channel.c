/*
 * Channels: see fib.h.
 *
 * A ring of values under one lock, and two lists of those who wait. A value
 * goes from hand to hand where somebody waits: a sender copies it straight to
 * the first receiver, so that nobody who comes later can take it away, and
 * who was woken need not look again. Therefore
 *
 *	receivers wait	only while the ring is empty and no sender waits
 *	senders wait	only while the ring is full and no receiver waits
 *
 * The lock is never held across a park.
 */
#include <stdlib.h>
#include "libfib/parker.h"

struct fib_channel {
	struct fib_lock lock;
	bool closed;
	uint32_t timed; /* that wait with a timeout: they come back to the lock
			 */
	size_t size, capacity;
	size_t head;	      /* the oldest value */
	_Atomic size_t count; /* read without the lock */
	struct fib_list senders, receivers;
	char ring[];
};

/* A sender, with its value, or a receiver, with the place for one. */
struct party {
	struct fib_parker parker;
	void *value;
	bool done; /* handed over; else the channel was closed */
};

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
	busy = c->timed || !fib_list_empty(&c->senders) ||
	       !fib_list_empty(&c->receivers);
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

static struct party *first_locked(struct fib_list *list)
{
	struct party *p;

	if (fib_list_empty(list))
		return NULL;
	p = fib_container_of(list->next, struct party, parker.link);
	fib_list_del(&p->parker.link);
	p->done = true;
	return p;
}

/* Called with the lock, returns without. */
static int wait_for_party(struct fib_channel *c, struct fib_list *list,
			  void *value, uint64_t timeout_ns)
{
	struct party me;
	int r;

	if (timeout_ns == 0) {
		fib_unlock(&c->lock);
		return -ETIMEDOUT;
	}
	me.value = value;
	me.done = false;
	fib_parker_init(&me.parker);
	fib_list_add_tail(list, &me.parker.link);
	if (timeout_ns == FIB_NEVER) {
		fib_unlock(&c->lock);
		fib_parker_wait(&me.parker, FIB_NEVER);
		return me.done ? 0 : -EPIPE;
	}
	c->timed++;
	fib_unlock(&c->lock);
	r = fib_parker_wait(&me.parker, fib_deadline(timeout_ns));
	fib_lock(&c->lock);
	c->timed--;
	if (fib_parker_woken(&me.parker))
		r = 0;
	else
		fib_list_del(&me.parker.link);
	fib_unlock(&c->lock);
	return r ? r : me.done ? 0 : -EPIPE;
}

int fib_channel_send(struct fib_channel *c, const void *value,
		     uint64_t timeout_ns)
{
	struct party *other;
	int r = 0;

	if (!c || !value)
		return -EINVAL;
	fib_lock(&c->lock);
	if (c->closed) {
		r = -EPIPE;
	} else if ((other = first_locked(&c->receivers))) {
		copy(other->value, value, c->size);
		fib_parker_wake(&other->parker);
	} else if (fib_load(&c->count, relaxed) < c->capacity) {
		put_locked(c, value);
	} else {
		return wait_for_party(c, &c->senders, (void *)value,
				      timeout_ns);
	}
	fib_unlock(&c->lock);
	return r;
}

int fib_channel_recv(struct fib_channel *c, void *value, uint64_t timeout_ns)
{
	struct party *other;
	int r = 0;

	if (!c || !value)
		return -EINVAL;
	fib_lock(&c->lock);
	if (fib_load(&c->count, relaxed)) {
		take_locked(c, value);
		if ((other = first_locked(&c->senders))) {
			put_locked(c, other->value);
			fib_parker_wake(&other->parker);
		}
	} else if ((other = first_locked(&c->senders))) {
		copy(value, other->value, c->size);
		fib_parker_wake(&other->parker);
	} else if (c->closed) {
		r = -EPIPE;
	} else {
		return wait_for_party(c, &c->receivers, value, timeout_ns);
	}
	fib_unlock(&c->lock);
	return r;
}

/* Senders that wait have not sent; receivers wait only where nothing is left.
 */
int fib_channel_close(struct fib_channel *c)
{
	if (!c)
		return -EINVAL;
	fib_lock(&c->lock);
	c->closed = true;
	fib_parker_wake_all(&c->senders);
	fib_parker_wake_all(&c->receivers);
	fib_unlock(&c->lock);
	return 0;
}

size_t fib_channel_count(const struct fib_channel *c)
{
	return c ? fib_load(&c->count, relaxed) : 0;
}
