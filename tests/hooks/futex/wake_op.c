/* FUTEX_WAKE_OP: the operation, the comparison, both wakes. */
#include "futex.h"

static uint32_t a, b;
static int on_b;

static void *wait_a(void *arg)
{
	CHECK(futex(&a, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
	return arg;
}

static void *wait_b(void *arg)
{
	long r;

	/* b's value moves under us: only a wake ends it. */
	do
		r = futex(&b, FUTEX_WAIT_PRIVATE,
			  __atomic_load_n(&b, __ATOMIC_SEQ_CST), NULL, NULL, 0);
	while (r != 0);
	__atomic_add_fetch(&on_b, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static long op(int o, int oparg, int cmp, int cmparg, int n1, int n2)
{
	return futex(&a, FUTEX_WAKE_OP_PRIVATE, (uint32_t)n1,
		     (void *)(intptr_t)n2, &b,
		     (uint32_t)FUTEX_OP(o, oparg, cmp, cmparg));
}

int main(void)
{
	pthread_t x, y;
	long woken = 0;

	b = 10;
	CHECK(op(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 10, 1, 1) == 0);
	CHECK(b == 15);
	CHECK(op(FUTEX_OP_SET, 0xf0, FUTEX_OP_CMP_NE, 0, 1, 1) == 0);
	CHECK(b == 0xf0);
	CHECK(op(FUTEX_OP_OR, 0x0f, FUTEX_OP_CMP_LT, 0, 1, 1) == 0);
	CHECK(b == 0xff);
	CHECK(op(FUTEX_OP_ANDN, 0x0f, FUTEX_OP_CMP_LE, 0, 1, 1) == 0);
	CHECK(b == 0xf0);
	CHECK(op(FUTEX_OP_XOR, 0xff, FUTEX_OP_CMP_GT, 0, 1, 1) == 0);
	CHECK(b == 0x0f);
	CHECK(op(FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 6, FUTEX_OP_CMP_GE, 0, 1,
		 1) == 0);
	CHECK(b == 0x4f);
	t_say("operations");

	b = 0;
	x = t_thread(wait_a, NULL);
	y = t_thread(wait_b, NULL);
	/* The comparison fails: only a's waiter is woken. */
	while (woken < 1) {
		woken += op(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 1, 1, 1);
		sched_yield();
	}
	CHECK(woken == 1);
	CHECK(on_b == 0);
	t_join(x);
	t_say("only the first");
	x = t_thread(wait_a, NULL);
	woken = 0;
	while (woken < 2) {
		woken += op(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0, 1, 1);
		sched_yield();
	}
	CHECK(woken == 2);
	t_join(x);
	t_join(y);
	t_say("both");
	CHECK_ERR(op(FUTEX_OP_ADD, 0, 9, 0, 1, 1), ENOSYS);
	return 0;
}
