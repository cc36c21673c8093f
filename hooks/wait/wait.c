/* Parking inside a hook body, see wait.h. */
#include <netinet/in.h>
#include <pthread.h>
#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "hooks/wait/way.h"
#include "runtime/chaos.h"
#include "runtime/reserved.h"
#include "runtime/timer.h"
#include "runtime/trywait.h"

/* What lies on the stack that may be unwound. */
static void let_go(struct fib *f)
{
	struct fib_hold *next;

	/* It may be a description's, which goes with the last hold. */
	if (f->io.counted)
		fib_sub(f->io.counted, 1, relaxed);
	f->io.counted = NULL;
	for (struct fib_hold *h = f->io.hold; h; h = next) {
		next = h->also;
		fib_iom_let_go(h);
	}
	f->io.hold = NULL;
	if (f->io.keeps)
		fib_iom_let_go(f->io.keeps);
	f->io.keeps = NULL;
	if (f->io.place)
		fib_line_leave(f->io.place);
	if (f->io.reserved)
		fib_reserved_free(f->io.reserved - 1);
	f->io.reserved = 0;
	fib_way_leave(f);
}

static void test_cancel(struct fib *f)
{
	if (fib_likely(!fib_load(&f->hook.cancelled, acquire)) ||
	    f->hook.door != FIB_DOOR_SYMBOL || !fib_libc.testcancel)
		return;
	/* If it unwinds, cleanup handlers are the program's own code. */
	fib_no_lock("a cancel");
	fib_store(&f->hook.in_hook, 0, relaxed);
	fib_barrier();
	fib_libc.testcancel();
	fib_barrier();
	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
}

static bool signal_waits(const struct fib *f)
{
	return fib_load(&f->sig.pending, relaxed) & 1ull << 31;
}

/* In the deferred type neither call acts. */
static bool is_enabled(void)
{
	int state = PTHREAD_CANCEL_DISABLE;

	fib_libc.setcancelstate(state, &state);
	fib_libc.setcancelstate(state, &(int){ 0 });
	return state == PTHREAD_CANCEL_ENABLE;
}

/* Is a call that has had a part of its effect to be cut short? */
static bool cancel_cuts(void)
{
	struct fib *f = fib_self();

	if (!f->io.part || !fib_cancel_is_near())
		return false;
	if (f->hook.door != FIB_DOOR_SYMBOL || f->thread.cancel_async)
		return signal_waits(f);
	return is_enabled();
}

/*
 * May a cancel act, which is near? Where it may not the call goes on as if there were none,
 * and stays with its file and its place. At a site libc may have made the type asynchronous,
 * so that to ask would have it act, but not where it has no cancellation point.
 */
static bool may_act(const struct fib *f)
{
	if (f->thread.cancel_async)
		return true;
	if (f->hook.door == FIB_DOOR_SYMBOL)
		return is_enabled();
	return f->hook.call != SYS_flock && f->hook.call != SYS_sendfile;
}

static bool cancel_ends(void)
{
	return fib_cancel_is_near() && may_act(fib_self());
}

static void cancel_point(void)
{
	struct fib *f = fib_self();

	if (fib_likely(!fib_cancel_is_near()))
		return;
	if (f->io.part) {
		/* A kick at the door of the call has taken the attention away. */
		if (cancel_cuts())
			fib_store(&f->attention, 1, seq_cst);
		return;
	}
	if (!may_act(f))
		return;
	let_go(f);
	/* The signal may be what tells libc that there is a cancel. */
	fib_signal_deliver_cancel(f);
	test_cancel(f);
}

/* What is handled here has come before the wait. */
void fib_cancel_begin(void)
{
	cancel_point();
	fib_self()->io.handled = FIB_HANDLED_NONE;
}

void fib_cancel_end(void)
{
	cancel_point();
}

/*
 * A cancel is noted first, and then gives attention: one whose attention is taken away here
 * is seen by the second look. (Without it, that of libc's signal, which comes before.)
 */
static bool goes_on(struct fib *f, bool (*ends)(void))
{
	if (ends() || f->io.handled)
		return false;
	FIB_CHAOS_POINT(goes_on);
	if (!fib_attention_clear(f))
		return false;
	if (fib_likely(!ends()))
		return true;
	fib_store(&f->attention, 1, seq_cst);
	return false;
}

bool fib_part_goes_on(void)
{
	return goes_on(fib_self(), cancel_cuts);
}

int fib_io_wait(struct fib_io *io)
{
	int r;

	fib_cancel_begin();
	r = fib_io_park(io);
	if (fib_unlikely(cancel_ends())) {
		fib_io_end(io);
		fib_cancel_end();
	}
	return r;
}

/*
 * A connect() that the kernel makes (UDP's; TCP's on the loopback, or where io_uring cannot
 * begin it) is often done at once, and to tell the monitor of it costs more than the call. So
 * where those of its kind have been quick of late it is not told: one that does take
 * long, it finds at its next tick. A slow one counts as much as many. On the loopback
 * the kernel waits for nothing, unless the listener's queue is full; but who is
 * connected to may take the processor for a while. One that has held its worker up has
 * those of TCP begun by io_uring, until some of these were done at once (slow.h).
 */
#define QUICK_SLOW 16
#define QUICK_MOST 32

static struct connects {
	_Atomic int quick;
	uint32_t cycles; /* that is slow */
} near = { QUICK_MOST, 30000000 },
  far = { 0, 600000 }; /* 10 ms, 0.2 ms or so */

static bool is_loopback(const void *addr, size_t len)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	const uint32_t *w = (const uint32_t *)&in6.sin6_addr;

	if (len < sizeof(in) || fib_copy(&in, addr, sizeof(in)))
		return false;
	if (in.sin_family == AF_INET)
		return (in.sin_addr.s_addr & 0xff) == 127;
	return in.sin_family == AF_INET6 && len >= sizeof(in6) &&
	       !fib_copy(&in6, addr, sizeof(in6)) && !w[0] && !w[1] && !w[2] &&
	       w[3] == 1u << 24;
}

static void note_connect(struct connects *c, uint64_t cycles)
{
	int n = fib_load(&c->quick, relaxed) +
		(cycles < c->cycles ? 1 : -QUICK_SLOW);

	if (n <= QUICK_MOST && n >= -QUICK_MOST)
		fib_store(&c->quick, n, relaxed);
}

bool fib_connect_is_quick(const void *addr, size_t len)
{
	return fib_load(&near.quick, relaxed) > 0 && !fib_slow_is() &&
	       is_loopback(addr, len);
}

static inline long in_kernel(struct fib *f, long nr, const long a[6])
{
	bool loops =
		nr == SYS_connect && is_loopback((void *)a[1], (size_t)a[2]);
	struct connects *c = NULL;
	uint64_t began = 0;
	long r;

	if (nr == SYS_connect)
		c = loops ? &near : &far;
	fib_cancel_begin();
	f->io.blocking_sp = (uintptr_t)__builtin_frame_address(0);
	if (c)
		began = fib_cycles();
	fib_block_enter(c && fib_load(&c->quick, relaxed) > 0);
	r = fib_signal_raw_intr(f, nr, a);
	if (c)
		note_connect(c, fib_cycles() - began);
	fib_block_leave();
	f->io.blocking_sp = 0;
	FIB_CHAOS_POINT(block_ended);
	return r;
}

long fib_blocking_for_event(long nr, const long a[6])
{
	long r = in_kernel(fib_self(), nr, a);

	if (r < 0)
		fib_cancel_end();
	return r;
}

/* What is submitted to io_uring is done on the spot where it can be. */
static bool submits(long nr, const long a[6])
{
	return nr == SYS_io_uring_enter && a[1];
}

/* Has SIGPIPE come, perhaps, beside what the call had done before? */
static bool may_be_broken(long nr, const long a[6], long r)
{
	switch (nr) {
	case SYS_sendmmsg:
		return true;
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
		return r > 0;
	}
	return submits(nr, a);
}

long fib_blocking(long nr, const long a[6])
{
	struct fib *f = fib_self();
	long r = in_kernel(f, nr, a);

	/* It is this thread's, and would be taken for the process's. */
	if (r == -EPIPE || may_be_broken(nr, a, r))
		fib_signal_raise(f, SIGPIPE, true);
	if (r == -EFBIG || submits(nr, a))
		fib_signal_raise(f, SIGXFSZ, true);
	if (r != -EINTR && r != -FIB_ERESTARTNOINTR)
		fib_signal_sync_handled(f);
	if (r < 0)
		fib_cancel_end();
	return r;
}

long fib_blocking_counted(long nr, const long a[6], _Atomic int *count)
{
	struct fib *f = fib_self();
	long r;

	f->io.counted = count;
	r = fib_blocking(nr, a);
	if (f->io.counted)
		fib_sub(count, 1, relaxed);
	f->io.counted = NULL;
	return r;
}

bool fib_wait_goes_on(struct fib *f)
{
	if (!goes_on(f, cancel_ends))
		return false;
	if (fib_xchg(&f->sig.preempt, false, relaxed))
		fib_sched_preempted();
	return true;
}

bool fib_wait_stays(void)
{
	return fib_wait_goes_on(fib_self()) && !fib_filtered();
}

static bool never(const void *arg)
{
	return false;
}

int fib_wait_until(uint64_t deadline_ns, uint8_t why)
{
	int r;

	fib_cancel_begin();
	r = fib_park_until(never, NULL, deadline_ns, why, 0);
	if (r == -EINTR)
		fib_cancel_end();
	return r;
}
