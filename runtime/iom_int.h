/* What the files of the IOManager share: iom.c, iom_close.c, iom_poll.c. */
#ifndef FIB_IOM_INT_H
#define FIB_IOM_INT_H

#include "runtime/iom.h"

/*
 * In an event: the scheduler's own descriptor, that wakes it, and the host's own, of
 * which it is told. No slot has such numbers.
 */
#define FIB_IOM_WAKE UINT64_MAX
#define FIB_IOM_NEWS (UINT64_MAX - 1)

/** No slot above it was ever waited at. */
extern _Atomic int fib_iom_watched_top;

/** epoll_ctl() @op for @s, which is to tell of @events, FIB_IO_*. */
long fib_iom_control(struct fib_fd *s, int op, uint8_t events);
/** Register @s for @events as well: 0 or -errno. */
int fib_iom_register_locked(struct fib_fd *s, uint8_t events);
/** @s was closed unseen, and has been registered as another file. */
void fib_iom_lost_locked(struct fib_fd *s);
/* What fib_fd.waiting says. */
static inline void fib_iom_waits_locked(struct fib_fd *s, uint8_t events)
{
	int top = fib_load(&fib_iom_watched_top, relaxed);

	fib_store(&s->waiting, fib_load(&s->waiting, relaxed) | events,
		  relaxed);
	while (fib_unlikely(s->fd > top) &&
	       !fib_cas(&fib_iom_watched_top, &top, s->fd, relaxed))
		;
}
static inline void fib_iom_waits_not_locked(struct fib_fd *s, uint8_t events)
{
	fib_store(&s->waiting,
		  fib_load(&s->waiting, relaxed) & (uint8_t)~events, relaxed);
}
/* Nobody is under way to take @events. */
static inline void fib_iom_sent_ends_locked(struct fib_fd *s, uint8_t events)
{
	fib_iom_waits_not_locked(s,
				 FIB_IO_SENT(events) | FIB_IO_UNTOLD(events));
}
/** (B) of iom.h. */
static inline void fib_iom_edge_locked(struct fib_fd *s)
{
	fib_store(&s->edges, fib_load(&s->edges, relaxed) + 1, release);
}
/** As a read that begins: no read before it may say any more that it was short. */
static inline void fib_iom_read_begins(struct fib_fd *s)
{
	uint32_t was = fib_load(&s->reads, relaxed);

	while (!fib_cas(&s->reads, &was, (was + 2) & ~1u, seq_cst))
		;
}
/**
 * Make an event of what there is to read, unless one is on its way. It comes behind those that
 * are: who is woken at once goes before them, and on a busy server that is one of
 * the same few each time. That there is room is told to nobody who does not wait for it.
 * As epoll_ctl().
 */
long fib_iom_tell_unread_locked(struct fib_fd *s);
/* Somebody waits at @s. @again: his call has waited there before. */
void fib_iom_freshen_locked(struct fib_fd *s, bool again);
void fib_iom_unlink_locked(struct fib_fd *s, struct fib_waiter *w);
/**
 * An edge: wake one consumer for each direction in @events, and all observers of
 * @observers.
 */
void fib_iom_feed_locked(struct fib_fd *s, uint8_t events, uint8_t observers);
/** The slot where @w is now, locked. */
struct fib_fd *fib_iom_lock_slot_of(struct fib_waiter *w);

#endif
