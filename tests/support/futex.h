/* futex(2) without a wrapper. */
#ifndef T_FUTEX_H
#define T_FUTEX_H

#include "t.h"
#include <linux/futex.h>

static inline long futex(void *addr, int op, uint32_t val, void *ts_or_val2,
			 void *addr2, uint32_t val3)
{
	return syscall(SYS_futex, addr, op, val, ts_or_val2, addr2, val3);
}

/* Waits while *addr is val, whatever wakes it. */
static inline void f_wait_while(uint32_t *addr, uint32_t val, int flag)
{
	while (__atomic_load_n(addr, __ATOMIC_ACQUIRE) == val) {
		long r = futex(addr, FUTEX_WAIT | flag, val, NULL, NULL, 0);

		CHECK(r == 0 || errno == EAGAIN || errno == EINTR);
	}
}

/* Wakes until n waiters were woken. */
static inline void f_wake_n(uint32_t *addr, int n, int flag)
{
	while (n) {
		long r = futex(addr, FUTEX_WAKE | flag, (uint32_t)n, NULL, NULL,
			       0);

		CHECK(r >= 0 && r <= n);
		n -= (int)r;
		if (n)
			sched_yield();
	}
}

#endif
