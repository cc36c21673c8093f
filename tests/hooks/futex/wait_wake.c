/* FUTEX_WAIT and FUTEX_WAKE: counts, EAGAIN, ping-pong, PRIVATE and not. */
#include "futex.h"

enum { N = 12, TURNS = 2000 };

static uint32_t word, gate, ready;
static int flag;

static void *wait_once(void *arg)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	CHECK(futex(&gate, FUTEX_WAIT | flag, 0, NULL, NULL, 0) == 0);
	return arg;
}

static void *pong(void *arg)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		f_wait_while(&word, 2 * i, flag);
		CHECK(word == 2 * i + 1);
		__atomic_store_n(&word, 2 * i + 2, __ATOMIC_RELEASE);
		futex(&word, FUTEX_WAKE | flag, 1, NULL, NULL, 0);
	}
	return arg;
}

int main(void)
{
	pthread_t th[N];

	for (int turn = 0; turn < 2; turn++) {
		flag = turn ? 0 : FUTEX_PRIVATE_FLAG;
		word = 5;
		CHECK_ERR(futex(&word, FUTEX_WAIT | flag, 4, NULL, NULL, 0),
			  EAGAIN);
		CHECK(futex(&word, FUTEX_WAKE | flag, 100, NULL, NULL, 0) == 0);
		for (int i = 0; i < N; i++)
			th[i] = t_thread(wait_once, NULL);
		/* Everyone is woken exactly once, one at a time, then all. */
		f_wake_n(&gate, 1, flag);
		f_wake_n(&gate, 3, flag);
		f_wake_n(&gate, N - 4, flag);
		for (int i = 0; i < N; i++)
			t_join(th[i]);
		CHECK(futex(&gate, FUTEX_WAKE | flag, 100, NULL, NULL, 0) == 0);
		word = 0;
		th[0] = t_thread(pong, NULL);
		for (uint32_t i = 0; i < TURNS; i++) {
			__atomic_store_n(&word, 2 * i + 1, __ATOMIC_RELEASE);
			futex(&word, FUTEX_WAKE | flag, 1, NULL, NULL, 0);
			f_wait_while(&word, 2 * i + 1, flag);
		}
		t_join(th[0]);
		t_say("%s: %u waiters, ping-pong to %u",
		      flag ? "private" : "shared", ready, word);
	}
	return 0;
}
