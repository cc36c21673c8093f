/* FUTEX_REQUEUE and FUTEX_CMP_REQUEUE. */
#include "futex.h"

enum { N = 10, STRAYS = 2 };

static uint32_t a, b;
static int out;

static void *waiter(void *arg)
{
	CHECK(futex(&a, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
	__atomic_add_fetch(&out, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/*
 * The kernel's futex_wait() waits again, where it did at first, when its thread has
 * been woken for no reason: one of ten in one of a hundred runs, on Linux 6.18.
 */
static void wake_at_a(long n)
{
	long r;

	for (; n; n -= r) {
		r = futex(&a, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		CHECK(r >= 0 && r <= n);
		sched_yield();
	}
	CHECK(futex(&a, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) == 0);
}

int main(void)
{
	pthread_t th[N];
	long r, at_b;

	for (int turn = 0; turn < 2; turn++) {
		int woken = 0, moved = 0;

		for (int i = 0; i < N; i++)
			th[i] = t_thread(waiter, NULL);
		/* At most one is woken, the others go to b, as they come. */
		while (woken + moved < N) {
			if (turn)
				r = futex(&a, FUTEX_CMP_REQUEUE_PRIVATE,
					  woken ? 0 : 1,
					  (void *)(intptr_t)INT_MAX, &b, 0);
			else
				r = futex(&a, FUTEX_REQUEUE_PRIVATE,
					  woken ? 0 : 1,
					  (void *)(intptr_t)INT_MAX, &b, 0);
			CHECK(r >= 0);
			/* CMP_REQUEUE counts both, REQUEUE too on Linux. */
			if (!woken && r > 0) {
				woken = 1;
				r--;
			}
			moved += (int)r;
			sched_yield();
		}
		CHECK(woken == 1);
		CHECK(moved == N - 1);
		CHECK(futex(&b, FUTEX_WAKE_PRIVATE, 4, NULL, NULL, 0) == 4);
		at_b = futex(&b, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		CHECK(at_b >= N - 5 - STRAYS && at_b <= N - 5);
		wake_at_a(N - 5 - at_b);
		for (int i = 0; i < N; i++)
			t_join(th[i]);
		t_say("%s: 1 woken, %d moved, %d out",
		      turn ? "cmp_requeue" : "requeue", moved, out);
	}
	CHECK_ERR(futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)(intptr_t)1,
			&b, 7),
		  EAGAIN);
	CHECK(futex(&a, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)(intptr_t)1, &b,
		    0) == 0);
	t_say("wrong value: EAGAIN");
	return 0;
}
