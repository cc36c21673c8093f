/*
 * Events of descriptors, for programs that use the library. See lib.h.
 *
 * An event is the fiber that it is for, in the descriptor's slot: one that has
 * not run yet, and calls the callback when it does, or with the lowest bit set one
 * that holds. Adding it arms the descriptor anew, so that one that is ready
 * already fires. The slot's lock decides between firing, forgetting and adding.
 */
#include "runtime/iom.h"
#include "libfib/lib.h"

_Static_assert(FIB_EV_READ == (int)FIB_IO_READ &&
		       FIB_EV_WRITE == (int)FIB_IO_WRITE,
	       "an event is a direction of the engine's");

#define HOLDS 1ul

static unsigned side(int event)
{
	return event == FIB_EV_WRITE;
}

static bool valid(const struct fib_sched *s, int event)
{
	return fib_sched_exists(s) &&
	       (event == FIB_EV_READ || event == FIB_EV_WRITE);
}

/* The event's place in the count of work is the fiber's from here on. */
static void fire_locked(struct fib_fd *slot, unsigned i)
{
	struct fib_sched *s = slot->lib.sched;
	struct fib *f = (struct fib *)(slot->lib.event[i] & ~HOLDS);
	bool holds = slot->lib.event[i] & HOLDS;

	slot->lib.event[i] = 0;
	fib_sub(&s->lib.nevents, 1, relaxed);
	if (holds) {
		fib_ready(f);
		fib_work_end(s);
	} else {
		fib_add(&s->lib.nfibers, 1, relaxed);
		fib_launch(f);
	}
}

void fib_events_fire_locked(struct fib_fd *slot, uint8_t events)
{
	for (unsigned i = 0; i < 2; i++)
		if (slot->lib.event[i] && (events & (1u << i)))
			fire_locked(slot, i);
}

static int publish(struct fib_fd *slot, int event, uintptr_t what)
{
	unsigned i = side(event);
	int r = -EEXIST;

	fib_lock(&slot->lock);
	if (!slot->lib.event[i])
		r = fib_iom_rearm_locked(slot);
	if (r == 0)
		slot->lib.event[i] = what;
	fib_unlock(&slot->lock);
	return r;
}

int fib_iom_add_event(struct fib_sched *s, int fd, int event,
		      void (*fn)(void *), void *arg)
{
	struct fib_fd *slot;
	struct fib *f;
	int r;

	if (!valid(s, event))
		return -EINVAL;
	if (fd < 0 || fd >= (int)FIB_FD_MAX)
		return -EBADF;
	slot = fib_iom_slot(s, fd);
	if (!slot)
		return -ENOMEM;
	f = fn ? fib_make(s, fn, arg, FIB_ANY_THREAD) : fib_self();
	if (!f)
		return fn ? -EAGAIN : -EPERM;
	if (!fn && (f->lib.sched != s || fib_top() != f))
		return -EPERM;
	fib_work_begin(s);
	fib_add(&s->lib.nevents, 1, relaxed);
	r = publish(slot, event, (uintptr_t)f | (fn ? 0 : HOLDS));
	if (r) {
		if (fn)
			fib_entry_put(f);
		fib_sub(&s->lib.nevents, 1, relaxed);
		fib_work_end(s);
	}
	return r;
}

int fib_iom_del_event(struct fib_sched *s, int fd, int event)
{
	struct fib_fd *slot = valid(s, event) ? fib_iom_peek(s, fd) : NULL;
	uintptr_t what;

	if (!valid(s, event))
		return -EINVAL;
	if (!slot)
		return -ENOENT;
	fib_lock(&slot->lock);
	what = slot->lib.event[side(event)];
	slot->lib.event[side(event)] = 0;
	if (what && !slot->lib.event[!side(event)])
		fib_iom_disarm_locked(slot);
	fib_unlock(&slot->lock);
	if (!what)
		return -ENOENT;
	if (!(what & HOLDS))
		fib_entry_put((struct fib *)what);
	fib_sub(&s->lib.nevents, 1, relaxed);
	fib_work_end(s);
	return 0;
}

/* Fire and forget @events of @slot; how many there were. */
static int cancel(struct fib_fd *slot, unsigned events)
{
	int n = 0;

	fib_lock(&slot->lock);
	for (unsigned i = 0; i < 2; i++)
		n += slot->lib.event[i] && (events & (1u << i));
	fib_events_fire_locked(slot, (uint8_t)events);
	if (n && !slot->lib.event[0] && !slot->lib.event[1])
		fib_iom_disarm_locked(slot);
	fib_unlock(&slot->lock);
	return n;
}

int fib_iom_cancel_event(struct fib_sched *s, int fd, int event)
{
	struct fib_fd *slot;

	if (!valid(s, event))
		return -EINVAL;
	slot = fib_iom_peek(s, fd);
	return slot && cancel(slot, (unsigned)event) ? 0 : -ENOENT;
}

int fib_iom_cancel_all(struct fib_sched *s, int fd)
{
	struct fib_fd *slot;

	if (!fib_sched_exists(s))
		return -EINVAL;
	slot = fib_iom_peek(s, fd);
	return slot ? cancel(slot, FIB_EV_READ | FIB_EV_WRITE) : 0;
}

long fib_iom_cancel_pending(struct fib_sched *s)
{
	long n = 0;

	if (!fib_sched_exists(s))
		return -EINVAL;
	for (unsigned fd = 0;
	     fd / FIB_FD_CHUNK < fib_load(&s->iom.chunks, acquire); fd++) {
		struct fib_fd *slot = fib_iom_peek(s, (int)fd);

		if (slot)
			n += cancel(slot, FIB_EV_READ | FIB_EV_WRITE);
		else
			fd |= FIB_FD_CHUNK - 1;
	}
	return n + fib_timers_cancel(s);
}

size_t fib_iom_pending(const struct fib_sched *s)
{
	return s ? fib_load(&s->lib.nevents, relaxed) : 0;
}

/* --- closing ----------------------------------------------------------------- */

static void before_close(struct fib_sched *s, void *arg)
{
	struct fib_fd *slot = fib_iom_peek(s, *(int *)arg);

	if (!slot)
		return;
	cancel(slot, FIB_EV_READ | FIB_EV_WRITE);
	fib_iom_closing(slot);
	fib_iom_forget(slot, true);
}

static void after_close(struct fib_sched *s, void *arg)
{
	struct fib_fd *slot = fib_iom_peek(s, *(int *)arg);

	if (slot)
		fib_iom_closed(slot);
}

int fib_close(int fd)
{
	int r;

	if (fd < 0)
		return -EBADF;
	fib_sched_each(before_close, &fd);
	fib_san_close(fd);
	r = (int)fib_call(SYS_close, fd);
	fib_sched_each(after_close, &fd);
	return r;
}

void fib_iom_fini(struct fib_sched *s)
{
	for (unsigned i = 0; i < fib_load(&s->iom.chunks, relaxed); i++) {
		struct fib_fd *c = fib_load(&s->iom.chunk[i], relaxed);

		if (c)
			fib_pages_free(c, FIB_FD_CHUNK * sizeof(*c));
	}
	if (s->iom.wakefd >= 0)
		fib_call(SYS_close, s->iom.wakefd);
	if (s->iom.epfd >= 0)
		fib_call(SYS_close, s->iom.epfd);
}
