/*
 * futex: words of this process's own memory wait in user space, shared ones in
 * the kernel.
 *
 * Which is which is told by the mapping, not by FUTEX_PRIVATE_FLAG: robust
 * mutexes and pthread_join use the shared form on private memory. A word is
 * shared if it lies in a mapping made with MAP_SHARED or by shmat
 * (hooks/memory/shared.c). A private operation is private by its own word.
 */
#include <linux/futex.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/futex/futex.h"
#include "hooks/memory/memory.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/futex.h"

#define USER_LIMIT ((1ul << 47) - 4096)

/*
 * Who waits in the kernel for words of this process's own: threads that are no fibers,
 * and fibers that wait for shared words as well.
 */
static _Atomic int foreign_waiters;

void fib_futex_init(void)
{
	fib_store(&foreign_waiters, 0, relaxed);
	fib_futex_shared_init();
}

/* --- the call ------------------------------------------------------------ */

long fib_futex_deadline(int op, const struct timespec *ts, uint64_t *deadline)
{
	int cmd = op & FUTEX_CMD_MASK;
	int64_t ns, now;

	*deadline = FIB_NEVER;
	if (!ts)
		return 0;
	ns = fib_timespec_ns(ts);
	if (ns < 0)
		return ns;
	if (cmd == FUTEX_WAIT) {
		*deadline = fib_deadline_in((uint64_t)ns);
		return 0;
	}
	if (!(op & FUTEX_CLOCK_REALTIME)) {
		*deadline = (uint64_t)ns;
		return 0;
	}
	now = fib_clock_ns(CLOCK_REALTIME);
	*deadline = ns > now ? fib_ns_add(fib_now_ns(), (uint64_t)(ns - now)) :
			       fib_now_ns();
	return 0;
}

static void add_passed_over(struct fib *f)
{
	if (f->passed_over < FIB_PASSED_OVER)
		f->passed_over++;
}

static void count_interrupted(struct fib *f)
{
	static _Atomic uint32_t tickets;

	if (f->passed_over == FIB_PASSED_OFTEN)
		return;
	if (++f->passed_over == FIB_PASSED_OFTEN)
		f->ticket = fib_add(&tickets, 1, relaxed) + 1;
}

/*
 * The caller begins to wait. Is it for what it has just been woken for, in its
 * first call since? (A handler's calls are none of its own.) Or for what a signal has
 * interrupted? No word that is 0 is a lock; but it may be a semaphore.
 */
static void count_passed_over(struct fib *f, const uint32_t *uaddr,
			      uint32_t val)
{
	if (fib_unlikely(f->hook.restarted))
		count_interrupted(f);
	else if (fib_likely(f->hook.calls != 1 ||
			    f->wait_arg != (uintptr_t)uaddr))
		f->passed_over = 0;
	else if (val)
		add_passed_over(f);
}

/* It has been woken since @uaddr is not 0 any more. Has somebody else had that? */
static void count_taken(struct fib *f, const uint32_t *uaddr)
{
	uint32_t is;

	if (fib_peek32(uaddr, &is) || is)
		f->passed_over = 0;
	else
		add_passed_over(f);
}

/* One that was passed over has been woken: it goes first, runtime/sched.h. */
static void let_pass(void)
{
	struct fib_worker *w = fib_worker_self();

	if (fib_likely(!w->let_pass))
		return;
	w->let_pass = false;
	fib_sched_yield();
}

/*
 * A lock that was given back before the caller's wait for it began, TOO_LATE times in
 * a row: threads on two workers fight for its cache line, and each attempt takes the
 * line from who has the lock. Natively a system call lies between two attempts; so
 * here it is left alone for about as long.
 */
#define TOO_LATE	3
#define TOO_LATE_CYCLES 2000u

static void count_too_late(struct fib *f, uint32_t val, long r)
{
	uint64_t began;

	if (r != -EAGAIN || !val) {
		f->too_late = 0;
	} else if (f->too_late < TOO_LATE) {
		f->too_late++;
	} else {
		began = fib_cycles();
		while (fib_cycles() - began < TOO_LATE_CYCLES)
			fib_cpu_relax();
	}
}

/* By which a waiter is found: with FUTEX_PRIVATE_FLAG or without. */
static uint32_t *key(int op, uint32_t *uaddr)
{
	return op & FUTEX_PRIVATE_FLAG ? uaddr : fib_futex_shared(uaddr);
}

static long wait(int op, uint32_t *uaddr, uint32_t val,
		 const struct timespec *ts, uint32_t bitset)
{
	uint64_t deadline, began;
	long r = fib_futex_deadline(op, ts, &deadline);

	if (r)
		return r;
	if (!bitset)
		return -EINVAL;
	fib_cancel_begin();
	fib_self()->io.loops /= 2; /* hooks/io/epoll.c */
	count_passed_over(fib_self(), uaddr, val);
	fib_stop_repeats(); /* the word may be another by then */
	began = fib_waits_begin();
	r = fib_futex_wait(key(op, uaddr), val, bitset, deadline);
	count_too_late(fib_self(), val, r);
	if (!val && !r)
		count_taken(fib_self(), uaddr);
	fib_waits_end(op, uaddr, began, r);
	if (r < 0)
		fib_cancel_end();
	if (r == -EINTR)
		return ts ? -FIB_ERESTARTNOHAND : -FIB_ERESTARTSYS;
	return r;
}

static long wake(int op, uint32_t *uaddr, int n, uint32_t bitset)
{
	long woken;

	if (!bitset)
		return -EINVAL;
	woken = fib_futex_wake(key(op, uaddr), n, bitset);
	if (woken < 0)
		return woken;
	if (fib_unlikely(fib_load(&foreign_waiters, seq_cst)) && woken < n) {
		long r = fib_raw(SYS_futex, uaddr, op, n - woken, 0, 0, bitset);

		if (r > 0)
			woken += r;
	}
	let_pass();
	return woken;
}

bool fib_futex_in_kernel(const uint32_t *word)
{
	fib_fence(seq_cst); /* pairs with the add of fib_futex_foreign() */
	return fib_load(&foreign_waiters, relaxed) ||
	       fib_shared_at((uintptr_t)word);
}

/*
 * Wakers and requeuers of a shared word; its waiters are in the kernel. Apart: the
 * others need no copy of the arguments.
 */
static long __attribute__((noinline))
shared(long uaddr, long op, long val, long timeout, long uaddr2, long val3)
{
	const long a[6] = { uaddr, op, val, timeout, uaddr2, val3 };
	int cmd = (int)a[1] & FUTEX_CMD_MASK;
	long r;

	fib_count(futex_shared);
	switch (cmd) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return fib_futex_shared_wait(a);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return fib_blocking(SYS_futex, a);
	}
	r = fib_pass(SYS_futex, a);
	/* The last at a barrier wakes the others, and has not waited itself. */
	fib_signal_sync_handled(fib_self());
	return r;
}

/*
 * A word that get_futex_key() of kernel/futex/core.c would refuse, or of which
 * only it knows: not aligned, beyond where programs have memory, or, of a word
 * that may be shared, on a page that cannot be written.
 */
static bool odd(uint32_t *uaddr, bool private)
{
	return ((uintptr_t)uaddr & 3) || (uintptr_t)uaddr >= USER_LIMIT ||
	       (!private && fib_touch32(uaddr));
}

static bool odd_call(uint32_t *uaddr, int op, uint32_t *uaddr2)
{
	bool private = op & FUTEX_PRIVATE_FLAG;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_WAIT_REQUEUE_PI:
		if (odd(uaddr2, private))
			return true;
	}
	if ((op & FUTEX_CLOCK_REALTIME) &&
	    (op & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET &&
	    (op & FUTEX_CMD_MASK) != FUTEX_WAIT_REQUEUE_PI &&
	    (op & FUTEX_CMD_MASK) != FUTEX_LOCK_PI2)
		return true;
	return odd(uaddr, private);
}

static struct fib *fiber_of(uint32_t tid)
{
	return fib_by_tid((int)tid);
}

static long lock_pi(int op, uint32_t *uaddr, const struct timespec *ts)
{
	int cmd = op & FUTEX_CMD_MASK;
	uint64_t deadline;
	long r;

	/* FUTEX_LOCK_PI is always in real time. */
	r = fib_futex_deadline(
		cmd == FUTEX_LOCK_PI2 ? op : op | FUTEX_CLOCK_REALTIME,
		cmd == FUTEX_TRYLOCK_PI ? NULL : ts, &deadline);
	if (r)
		return r;
	fib_cancel_begin();
	r = fib_futex_lock_pi(key(op, uaddr), (uint32_t)fib_own_tid(), deadline,
			      cmd == FUTEX_TRYLOCK_PI, fiber_of);
	if (r < 0)
		fib_cancel_end();
	/* In whatever way a handler ends it: it has the lock, or not yet. */
	return r == -EINTR ? -FIB_ERESTARTNOINTR : r;
}

static long wait_requeue_pi(int op, uint32_t *uaddr, uint32_t val,
			    const struct timespec *ts, uint32_t *to)
{
	uint64_t deadline;
	long r = fib_futex_deadline(op, ts, &deadline);

	if (r)
		return r;
	if ((uintptr_t)to & 3)
		return -EINVAL;
	r = fib_futex_wait_requeue_pi(key(op, uaddr), val, key(op, to),
				      (uint32_t)fib_own_tid(), deadline);
	return r == -EINTR ? -FIB_ERESTARTNOINTR : r;
}

/* include/uapi/linux/futex.h of Linux 5.16 */
struct waitv {
	uint64_t val;
	uint64_t uaddr;
	uint32_t flags;
	uint32_t reserved;
};

/*
 * Reads the words that are to be waited for: 0; 1: the kernel has to wait, and *@ours:
 * for words of the process's own as well; or -EINVAL: it shall say what is wrong.
 */
static int read_words(const struct waitv *user, unsigned n,
		      struct fib_futex_word *word, bool *ours)
{
	bool kernel = false;

	*ours = false;

	for (unsigned i = 0; i < n; i++) {
		struct waitv v;
		bool shared;

		/* 32 bits, private or not; the rest are errors */
		if (fib_copy(&v, &user[i], sizeof(v)) ||
		    (v.flags & ~128u) != 2 || v.reserved || v.val >> 32)
			return -EINVAL;
		word[i].uaddr = (uint32_t *)v.uaddr;
		word[i].val = (uint32_t)v.val;
		shared = !(v.flags & 128) && fib_shared_at(v.uaddr);
		kernel |= shared || odd(word[i].uaddr, v.flags & 128);
		*ours |= !shared;
		word[i].uaddr = key((int)v.flags, word[i].uaddr);
	}
	return kernel;
}

static long waitv_in_kernel(const long a[6], bool ours)
{
	if (ours)
		fib_add(&foreign_waiters, 1, seq_cst);
	return fib_blocking_counted(SYS_futex_waitv, a,
				    ours ? &foreign_waiters : NULL);
}

long fib_sys_futex_waitv(const void *user, unsigned n, unsigned flags,
			 const struct timespec *ts, int clock)
{
	struct fib_futex_word few[FIB_FUTEX_FEW], *word = few;
	const long a[6] = { (long)user, n, flags, (long)ts, clock };
	uint64_t deadline;
	bool ours;
	long r;

	if (flags || !n || n > FIB_FUTEX_WORDS ||
	    (ts && clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
		return fib_pass(SYS_futex_waitv, a);
	if (n > FIB_FUTEX_FEW)
		word = fib_pages_alloc(n * sizeof(*word));
	if (!word)
		return -ENOMEM;
	r = read_words(user, n, word, &ours);
	if (r) {
		r = r < 0 ? fib_pass(SYS_futex_waitv, a) :
			    waitv_in_kernel(a, ours);
		goto out;
	}
	r = fib_futex_deadline(
		FUTEX_WAIT_BITSET |
			(clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0),
		ts, &deadline);
	if (r)
		goto out;
	fib_stop_repeats();
	r = fib_futex_waitv(word, n, deadline);
	if (r == -EINTR)
		r = -FIB_ERESTARTSYS; /* with a limit, too: it is absolute */
out:
	if (word != few)
		fib_pages_free(word, n * sizeof(*word));
	return r;
}

long fib_sys_futex(uint32_t *uaddr, int op, uint32_t val, uintptr_t timeout,
		   uint32_t *uaddr2, uint32_t val3)
{
	const struct timespec *ts = (const void *)timeout;

	if (!(op & FUTEX_PRIVATE_FLAG) && fib_shared_at((uintptr_t)uaddr))
		goto shared;
	if (fib_unlikely(odd_call(uaddr, op, uaddr2)))
		goto shared;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return wait(op, uaddr, val, ts, FIB_FUTEX_ANY);
	case FUTEX_WAIT_BITSET:
		return wait(op, uaddr, val, ts, val3);
	case FUTEX_WAKE:
		return wake(op, uaddr, (int)val, FIB_FUTEX_ANY);
	case FUTEX_WAKE_BITSET:
		return wake(op, uaddr, (int)val, val3);
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		if ((int)val < 0 || (int)timeout < 0)
			return -EINVAL;
		return fib_futex_requeue(
			key(op, uaddr), key(op, uaddr2), (int)val, (int)timeout,
			(op & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE ? &val3 :
								     NULL);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_TRYLOCK_PI:
		return lock_pi(op, uaddr, ts);
	case FUTEX_UNLOCK_PI:
		return fib_futex_unlock_pi(key(op, uaddr),
					   (uint32_t)fib_own_tid(), false);
	case FUTEX_WAIT_REQUEUE_PI:
		return wait_requeue_pi(op, uaddr, val, ts, uaddr2);
	case FUTEX_CMP_REQUEUE_PI:
		if ((int)val != 1 || (int)timeout < 0 || uaddr == uaddr2 ||
		    ((uintptr_t)uaddr2 & 3))
			return -EINVAL;
		return fib_futex_cmp_requeue_pi(key(op, uaddr), key(op, uaddr2),
						(int)timeout, val3, fiber_of);
	case FUTEX_WAKE_OP:
		return fib_futex_wake_op(key(op, uaddr), key(op, uaddr2),
					 (int)val, (int)timeout, val3);
	}
shared:
	return shared((long)uaddr, op, (long)val, (long)timeout, (long)uaddr2,
		      (long)val3);
}

/*
 * A thread that is no fiber: what it wakes may be fibers, and while it waits
 * in the kernel, fibers wake there as well.
 */
long fib_futex_foreign_wait(long nr, const long a[6])
{
	long r;

	fib_add(&foreign_waiters, 1, seq_cst);
	r = fib_pass(nr, a);
	fib_sub(&foreign_waiters, 1, seq_cst);
	return r;
}

long fib_futex_foreign(const long a[6])
{
	int cmd = (int)a[1] & FUTEX_CMD_MASK;
	uint32_t *uaddr = (uint32_t *)a[0];
	long woken = 0, r;

	switch (cmd) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return fib_futex_foreign_wait(SYS_futex, a);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		woken = fib_futex_wake(key((int)a[1], uaddr), (int)a[2],
				       cmd == FUTEX_WAKE ? FIB_FUTEX_ANY :
							   (uint32_t)a[5]);
		if (woken < 0 || woken >= a[2])
			return woken;
		break;
	}
	r = fib_pass(SYS_futex, a);
	return r < 0 ? r : r + woken;
}
