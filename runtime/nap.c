/* The monitor's sleep. */
#include "runtime/nap.h"

#define FOR_EVER_NS (1ull << 62)

static struct {
	_Atomic uint64_t began; /* 0: it is awake */
	uint64_t given;
	/* The kernel's, when it has ended, or was stopped. */
	struct timespec left;
	_Atomic uint64_t lost; /* in the last one */
} nap;

/* What has gone by without being slept, of a sleep from @began to now. */
static uint64_t lost_since(uint64_t began)
{
	uint64_t left =
		(uint64_t)fib_load(fib_shared(&nap.left.tv_sec), relaxed) *
			FIB_NSEC_PER_SEC +
		(uint64_t)fib_load(fib_shared(&nap.left.tv_nsec), relaxed);
	uint64_t slept = fib_load(fib_shared(&nap.given), relaxed) - left;
	uint64_t by = fib_now_ns() - began;

	return slept && by > slept ? by - slept : 0;
}

long fib_nap(struct pollfd *p, unsigned n, const struct timespec *ts)
{
	uint64_t began = fib_now_ns();
	long r;

	nap.left = ts ? *ts : fib_timespec(FOR_EVER_NS);
	nap.given = ts ? (uint64_t)ts->tv_sec * FIB_NSEC_PER_SEC +
				    (uint64_t)ts->tv_nsec :
			 FOR_EVER_NS;
	fib_store(&nap.began, began, release);
	r = fib_raw(SYS_ppoll, p, n, &nap.left, 0, 8);
	fib_store(&nap.lost, lost_since(began), relaxed);
	fib_store(&nap.began, 0, release);
	return r;
}

uint64_t fib_nap_lost_ns(void)
{
	uint64_t began, lost;

	do {
		began = fib_load(&nap.began, acquire);
		lost = began ? lost_since(began) : 0;
		fib_fence(acquire);
	} while (fib_load(&nap.began, relaxed) != began);
	return lost ? lost : fib_load(&nap.lost, relaxed);
}
