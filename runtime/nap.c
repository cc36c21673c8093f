/* The monitor's sleep. */
#include "runtime/nap.h"

#define FOR_EVER_NS (1ull << 61) /* its seconds have 32 bits */
#define KEPT_NS	    FIB_NSEC_PER_SEC

static struct {
	/* A turn goes from the end of one sleep to that of the next; 0: there was none. */
	_Atomic uint64_t turn;
	_Atomic uint64_t began; /* its sleep; 0: it is awake */
	uint64_t given;
	/*
	 * The kernel's, when it has ended, or was stopped: a struct timespec by its words,
	 * which may lie across a page's end.
	 */
	_Atomic uint32_t *_Atomic left;
	_Atomic uint32_t *across;
	/* What was lost in the worst turn, if that was not long ago. */
	_Atomic uint64_t lost, lost_at;
	/* So much of turn told_of was told. */
	_Atomic uint64_t told, told_of;
} nap;

enum { SEC = 0, SEC_HIGH = 1, NSEC = 2, WRITTEN = 3, ALL = 4 };
static _Atomic uint32_t whole[ALL];
_Static_assert(WRITTEN * sizeof(uint32_t) == FIB_NAP_LEFT, "what is written");

void fib_nap_at(void *page)
{
	nap.across = (_Atomic uint32_t *)page - WRITTEN;
}

static _Atomic uint32_t *put_left(_Atomic uint32_t *at, uint64_t ns)
{
	fib_store(&at[SEC], (uint32_t)(ns / FIB_NSEC_PER_SEC), relaxed);
	fib_store(&at[SEC_HIGH], 0, relaxed);
	fib_store(&at[NSEC], (uint32_t)(ns % FIB_NSEC_PER_SEC), relaxed);
	fib_store(&nap.left, at, relaxed);
	return at;
}

/* What has gone by in @turn without being slept. */
static uint64_t lost_by(uint64_t now, uint64_t turn, uint64_t began)
{
	const _Atomic uint32_t *at = fib_load(&nap.left, relaxed);
	uint64_t left, slept;

	if (!began)
		return turn ? now - turn : 0;
	if (turn > began) /* it is over, and kept */
		return 0;
	left = (uint64_t)fib_load(&at[SEC], relaxed) * FIB_NSEC_PER_SEC +
	       fib_load(&at[NSEC], relaxed);
	slept = fib_load(fib_shared(&nap.given), relaxed) - left;
	return began - turn +
	       (slept && now - began > slept ? now - began - slept : 0);
}

static uint64_t untold(uint64_t lost, uint64_t turn)
{
	uint64_t told = fib_load(&nap.told, relaxed);

	if (fib_load(&nap.told_of, acquire) != turn)
		return lost;
	return lost > told ? lost - told : 0;
}

static bool is_kept(uint64_t now)
{
	return now - fib_load(&nap.lost_at, relaxed) < KEPT_NS;
}

void fib_nap_forget(void)
{
	fib_store(&nap.turn, 0, relaxed);
	fib_store(&nap.began, 0, relaxed);
	fib_store(&nap.lost, 0, relaxed);
}

long fib_nap(struct pollfd *p, unsigned n, const struct timespec *ts,
	     bool tells)
{
	uint64_t began = fib_now_ns(), turn = fib_load(&nap.turn, relaxed);
	_Atomic uint32_t *left;
	uint64_t now, lost;
	long r;

	if (!turn) {
		turn = began;
		fib_store(&nap.turn, turn, relaxed);
	}
	nap.given = ts ? (uint64_t)ts->tv_sec * FIB_NSEC_PER_SEC +
				    (uint64_t)ts->tv_nsec :
			 FOR_EVER_NS;
	left = put_left(tells ? nap.across : whole, nap.given);
	fib_store(&nap.began, began, release);
	r = fib_raw(SYS_ppoll, p, n, left, 0, 8);
	now = fib_now_ns();
	/* If that does not say so, it was not stopped in its sleep, but late. */
	lost = tells && r == 0 ? began - turn : lost_by(now, turn, began);
	lost = untold(lost, turn);
	if (lost >= fib_load(&nap.lost, relaxed) || !is_kept(now)) {
		fib_store(&nap.lost_at, now, relaxed);
		fib_store(&nap.lost, lost, relaxed);
	}
	fib_store(&nap.turn, now, release);
	fib_store(&nap.began, 0, release);
	return r;
}

uint64_t fib_nap_take_lost_ns(void)
{
	uint64_t turn, began, now, lost, all;

	do {
		began = fib_load(&nap.began, acquire);
		turn = fib_load(&nap.turn, acquire);
		now = fib_now_ns();
		all = lost_by(now, turn, began);
		fib_fence(acquire);
	} while (fib_load(&nap.began, relaxed) != began ||
		 fib_load(&nap.turn, relaxed) != turn);
	lost = untold(all, turn);
	if (is_kept(now) && fib_load(&nap.lost, relaxed) > lost)
		lost = fib_load(&nap.lost, relaxed);
	fib_store(&nap.told, all, relaxed);
	fib_store(&nap.told_of, turn, release);
	fib_store(&nap.lost, 0, relaxed);
	return lost;
}
