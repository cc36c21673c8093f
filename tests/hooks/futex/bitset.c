/* FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET. */
#include "futex.h"

enum { N = 8 };

static uint32_t gate;
static int woken[N];

static void *waiter(void *arg)
{
	int i = (int)(intptr_t)arg;

	CHECK(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1u << i) ==
	      0);
	__atomic_store_n(&woken[i], 1, __ATOMIC_RELEASE);
	return NULL;
}

static void wake_bits(uint32_t bits, int n)
{
	while (n) {
		long r = futex(&gate, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL,
			       NULL, bits);

		CHECK(r >= 0 && r <= n);
		n -= (int)r;
		if (n)
			sched_yield();
	}
}

int main(void)
{
	struct timespec ts;
	pthread_t th[N];
	long long t0;

	for (int i = 0; i < N; i++)
		th[i] = t_thread(waiter, (void *)(intptr_t)i);
	wake_bits(0x0a, 2);
	t_join(th[1]);
	t_join(th[3]);
	CHECK(futex(&gate, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL,
		    0x0a) == 0);
	for (int i = 0; i < N; i++)
		CHECK(woken[i] == (i == 1 || i == 3));
	wake_bits(0xf0, 4);
	for (int i = 4; i < N; i++)
		t_join(th[i]);
	f_wake_n(&gate, 2, FUTEX_PRIVATE_FLAG);
	t_join(th[0]);
	t_join(th[2]);
	t_say("by bits, then the rest");

	t0 = t_now();
	ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	CHECK_ERR(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL,
			FUTEX_BITSET_MATCH_ANY),
		  ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	t0 = t_now();
	ts = t_in(CLOCK_REALTIME, 20 * T_MS);
	CHECK_ERR(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME,
			0, &ts, NULL, FUTEX_BITSET_MATCH_ANY),
		  ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	ts = t_ts(1);
	CHECK_ERR(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL, 1),
		  ETIMEDOUT);
	CHECK_ERR(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0),
		  EINVAL);
	CHECK_ERR(futex(&gate, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0),
		  EINVAL);
	CHECK_ERR(futex(&gate, FUTEX_WAIT_BITSET_PRIVATE, 1, NULL, NULL, 1),
		  EAGAIN);
	t_say("absolute timeouts and errors");
	return 0;
}
