/*
 * futex_wake, futex_wait and futex_requeue, the calls of Linux 6.7: the same words,
 * the same waiters (kernel/futex/syscalls.c). Each asks the kernel first, which says
 * what is wrong with it, or that there is no such call, and wakes who waits there;
 * then the old call does the rest, upon the runtime's table.
 */
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/futex/futex.h"
#include "hooks/memory/memory.h"
#include "hooks/wait/wait.h"

/* include/uapi/linux/futex.h of Linux 6.7 */
#define SIZE_U32 2u

struct word {
	uint64_t val;
	uint64_t uaddr;
	uint32_t flags;
	uint32_t reserved;
};

/* Does the old call know such a word? */
static bool is_old(unsigned flags)
{
	return (flags & ~(unsigned)FUTEX_PRIVATE_FLAG) == SIZE_U32;
}

/* May fibers wait for it? Others are the kernel's alone. */
static bool is_ours(const void *uaddr, unsigned flags)
{
	return is_old(flags) && ((flags & FUTEX_PRIVATE_FLAG) ||
				 !fib_shared_at((uintptr_t)uaddr));
}

static int old_op(int op, unsigned flags)
{
	return op | (int)(flags & FUTEX_PRIVATE_FLAG);
}

long fib_sys_futex_wake(uint32_t *uaddr, unsigned long mask, int n,
			unsigned flags)
{
	long r = fib_raw(SYS_futex_wake, uaddr, mask, n, flags), more;

	if (r < 0 || !n || (r && r >= n) || !is_ours(uaddr, flags))
		return r;
	more = fib_sys_futex(uaddr, old_op(FUTEX_WAKE_BITSET, flags),
			     (uint32_t)(n - r), 0, NULL, (uint32_t)mask);
	return more < 0 ? more : r + more;
}

/*
 * What the kernel has to say against the call: that there is none, or that it is not
 * allowed (no flags are these), and then what is wrong with its arguments, as futex_wake
 * of nobody says. Nobody is in its queue meanwhile, to be moved or counted.
 */
static long ask(const long a[6])
{
	long r = fib_raw(SYS_futex_wait, a[0], a[1], a[2], ~0u, 0, 0);

	if (r != -EINVAL || a[1] >> 32)
		return r;
	return fib_raw(SYS_futex_wake, a[0], a[2], 0, a[3]);
}

long fib_sys_futex_wait(uint32_t *uaddr, unsigned long val, unsigned long mask,
			unsigned flags, const struct timespec *ts, int clock)
{
	const long a[6] = { (long)uaddr, (long)val, (long)mask,
			    flags,	 (long)ts,  clock };
	int op = old_op(FUTEX_WAIT_BITSET, flags);
	uint64_t deadline;
	long r;

	if (!is_old(flags))
		return fib_blocking(SYS_futex_wait, a);
	if (ts && clock == CLOCK_REALTIME)
		op |= FUTEX_CLOCK_REALTIME;
	/* The kernel looks at the limit before it looks at the word. */
	if (ts && ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) ||
		   fib_futex_deadline(op, ts, &deadline)))
		return fib_pass(SYS_futex_wait, a);
	r = ask(a);
	if (r)
		return r;
	r = fib_sys_futex(uaddr, op, (uint32_t)val, (uintptr_t)ts, NULL,
			  (uint32_t)mask);
	/* Its limit is absolute: it is begun again as it was. */
	return r == -FIB_ERESTARTNOHAND ? -FIB_ERESTARTSYS : r;
}

long fib_sys_futex_requeue(const void *words, unsigned flags, int wakes,
			   int moves)
{
	struct word w[2];
	long r, more;

	if (fib_copy(w, words, sizeof(w)))
		return fib_raw(SYS_futex_requeue, words, flags, wakes, moves);
	r = fib_raw(SYS_futex_requeue, words, flags, wakes, moves);
	if (r < 0 || !is_ours((void *)w[0].uaddr, w[0].flags) ||
	    !is_ours((void *)w[1].uaddr, w[1].flags))
		return r;
	more = fib_sys_futex((uint32_t *)w[0].uaddr,
			     old_op(FUTEX_CMP_REQUEUE, w[0].flags),
			     (uint32_t)wakes, (uintptr_t)moves,
			     (uint32_t *)w[1].uaddr, (uint32_t)w[0].val);
	return more < 0 ? more : r + more;
}
