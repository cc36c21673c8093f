/* The futex table, against what futex(2) says. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "runtime/fault.h"
#include "runtime/futex.h"
#include "tests/unit/unit.h"

static uint32_t word, other;

struct call {
	uint32_t *uaddr;
	uint32_t bitset;
	uint64_t deadline_ns;
	_Atomic bool done;
	int result;
	struct fib *fib;
};

static void wait_main(void *arg)
{
	struct call *c = arg;

	c->result =
		fib_futex_wait(c->uaddr, *c->uaddr, c->bitset, c->deadline_ns);
	fib_store(&c->done, true, release);
}

/* A fiber that waits, once it does. */
static void go(struct call *c, uint32_t *uaddr, uint32_t bitset)
{
	*c = (struct call){ .uaddr = uaddr,
			    .bitset = bitset,
			    .deadline_ns = FIB_NEVER };
	c->fib = unit_go(wait_main, c);
	while (fib_load(&c->fib->permit, acquire) != FIB_PERMIT_PARKED)
		fib_sched_yield();
}

static void finish(struct call *c, int result)
{
	while (!fib_load(&c->done, acquire))
		fib_sched_yield();
	ck_assert_int_eq(c->result, result);
}

static bool waits(struct call *c)
{
	for (int i = 0; i < 100; i++)
		fib_sched_yield();
	return !fib_load(&c->done, acquire);
}

FIBER_TEST(value_differs, 1)
{
	word = 5;
	ck_assert_int_eq(fib_futex_wait(&word, 4, FIB_FUTEX_ANY, FIB_NEVER),
			 -EAGAIN);
	/* before the time limit is looked at, as the kernel does it */
	ck_assert_int_eq(fib_futex_wait(&word, 4, FIB_FUTEX_ANY, 1), -EAGAIN);
	ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 0);
	ck_assert_int_eq(fib_futex_wait((void *)((char *)&word + 1), 0,
					FIB_FUTEX_ANY, FIB_NEVER),
			 -EINVAL);
}

/*
 * More fibers than there are buckets for at first: who waits when the table grows
 * is found by waking, by giving up and by order, as is who comes after.
 */
FIBER_TEST(table_grows, 2)
{
	enum { EARLY = 100, ALL = 8600 };
	static struct call c[ALL], late[4];
	static uint32_t words[ALL];
	struct call first[4];

	for (int i = 0; i < 4; i++)
		go(&first[i], &word, FIB_FUTEX_ANY);
	late[0] = (struct call){ .uaddr = &other,
				 .bitset = FIB_FUTEX_ANY,
				 .deadline_ns = fib_now_ns() + 1000 * MSEC };
	late[0].fib = unit_go(wait_main, &late[0]);
	for (int i = 0; i < ALL; i++)
		go(&c[i], &words[i], FIB_FUTEX_ANY);
	ck_assert_uint_gt(fib_high_water(), 8192);
	for (int i = 1; i < 4; i++)
		go(&late[i], &word, FIB_FUTEX_ANY);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 1);
		finish(&first[i], 0);
	}
	for (int i = 0; i < EARLY; i++) {
		words[i] = 1;
		ck_assert_int_eq(fib_futex_wake(&words[i], 2, FIB_FUTEX_ANY),
				 1);
		finish(&c[i], 0);
	}
	/* all others go one by one to one word, and wake in the order of that */
	for (int i = EARLY; i < ALL; i++)
		ck_assert_int_eq(
			fib_futex_requeue(&words[i], &words[0], 0, 1, NULL), 1);
	for (int i = EARLY; i < EARLY + 5; i++) {
		ck_assert_int_eq(fib_futex_wake(&words[0], 1, FIB_FUTEX_ANY),
				 1);
		finish(&c[i], 0);
	}
	ck_assert_int_eq(fib_futex_wake(&words[0], ALL, FIB_FUTEX_ANY),
			 ALL - EARLY - 5);
	ck_assert_int_eq(fib_futex_wake(&word, 4, FIB_FUTEX_ANY), 3);
	for (int i = EARLY + 5; i < ALL; i++)
		finish(&c[i], 0);
	for (int i = 1; i < 4; i++)
		finish(&late[i], 0);
	finish(&late[0], -ETIMEDOUT);
}

FIBER_TEST(wake_counts, 2)
{
	struct call c[5];

	for (int i = 0; i < 5; i++)
		go(&c[i], &word, FIB_FUTEX_ANY);
	ck_assert_int_eq(fib_futex_wake(&other, 5, FIB_FUTEX_ANY), 0);
	/* first come, first served; a count of 0 wakes one */
	ck_assert_int_eq(fib_futex_wake(&word, 0, FIB_FUTEX_ANY), 1);
	finish(&c[0], 0);
	ck_assert(waits(&c[1]));
	ck_assert_int_eq(fib_futex_wake(&word, 2, FIB_FUTEX_ANY), 2);
	finish(&c[1], 0);
	finish(&c[2], 0);
	ck_assert(waits(&c[3]));
	ck_assert_int_eq(fib_futex_wake(&word, INT_MAX, FIB_FUTEX_ANY), 2);
	finish(&c[3], 0);
	finish(&c[4], 0);
	ck_assert_int_eq(fib_futex_wake(&word, INT_MAX, FIB_FUTEX_ANY), 0);
}

FIBER_TEST(bitset, 2)
{
	struct call c[3];

	go(&c[0], &word, 1);
	go(&c[1], &word, 2);
	go(&c[2], &word, 3);
	ck_assert_int_eq(fib_futex_wake(&word, 5, 4), 0);
	ck_assert_int_eq(fib_futex_wake(&word, 5, 2), 2);
	finish(&c[1], 0);
	finish(&c[2], 0);
	ck_assert(waits(&c[0]));
	ck_assert_int_eq(fib_futex_wake(&word, 5, 1), 1);
	finish(&c[0], 0);
}

FIBER_TEST(timeout, 2)
{
	uint64_t t;

	t = fib_now_ns();
	ck_assert_int_eq(fib_futex_wait(&word, 0, FIB_FUTEX_ANY, t + 20 * MSEC),
			 -ETIMEDOUT);
	ck_assert_uint_ge(fib_now_ns(), t + 20 * MSEC);
	/* a limit that is past */
	ck_assert_int_eq(fib_futex_wait(&word, 0, FIB_FUTEX_ANY, 1),
			 -ETIMEDOUT);
	ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 0);
}

FIBER_TEST(woken_in_time, 2)
{
	struct call c = { .uaddr = &word, .bitset = FIB_FUTEX_ANY };

	c.deadline_ns = fib_now_ns() + 1000 * FIB_NSEC_PER_SEC;
	c.fib = unit_go(wait_main, &c);
	while (!fib_futex_wake(&word, 1, FIB_FUTEX_ANY))
		fib_sched_yield();
	finish(&c, 0);
	/* its timer is gone with it */
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_uint_eq(unit_scheduler->worker[i]->timers.count, 0);
}

FIBER_TEST(attention, 2)
{
	struct call c;

	go(&c, &word, FIB_FUTEX_ANY);
	fib_wake(c.fib);
	ck_assert(waits(&c));
	fib_store(&c.fib->attention, 1, release);
	fib_wake(c.fib);
	finish(&c, -EINTR);
	ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 0);
}

FIBER_TEST(requeue, 2)
{
	struct call c[5];

	for (int i = 0; i < 5; i++)
		go(&c[i], &word, FIB_FUTEX_ANY);
	/* woken and moved are counted, as the kernel does it */
	ck_assert_int_eq(fib_futex_requeue(&word, &other, 1, 2, NULL), 3);
	finish(&c[0], 0);
	/* two stay, two have moved */
	ck_assert(waits(&c[1]));
	ck_assert_int_eq(fib_futex_wake(&other, 5, FIB_FUTEX_ANY), 2);
	finish(&c[1], 0);
	finish(&c[2], 0);
	ck_assert_int_eq(fib_futex_wake(&word, 5, FIB_FUTEX_ANY), 2);
	finish(&c[3], 0);
	finish(&c[4], 0);
}

FIBER_TEST(cmp_requeue, 2)
{
	struct call c[3];
	uint32_t wrong = 1, right = 0;

	for (int i = 0; i < 3; i++)
		go(&c[i], &word, FIB_FUTEX_ANY);
	ck_assert_int_eq(fib_futex_requeue(&word, &other, 1, 5, &wrong),
			 -EAGAIN);
	ck_assert_int_eq(fib_futex_requeue(&word, &other, 1, 5, &right), 3);
	finish(&c[0], 0);
	ck_assert_int_eq(fib_futex_wake(&word, 5, FIB_FUTEX_ANY), 0);
	ck_assert_int_eq(fib_futex_wake(&other, 5, FIB_FUTEX_ANY), 2);
	finish(&c[1], 0);
	finish(&c[2], 0);
}

/* To the word where they are, and to another word in the same bucket. */
FIBER_TEST(requeue_nearby, 2)
{
	static uint32_t words[1 << 16];
	uint32_t *twin = NULL;
	struct call c[3];

	for (uint32_t i = 1; !twin; i++) {
		uint64_t a = (uintptr_t)&words[0] * 0x9e3779b97f4a7c15ull;
		uint64_t b = (uintptr_t)&words[i] * 0x9e3779b97f4a7c15ull;

		if (a >> 52 == b >> 52)
			twin = &words[i];
	}
	for (int i = 0; i < 3; i++)
		go(&c[i], &words[0], FIB_FUTEX_ANY);
	ck_assert_int_eq(fib_futex_requeue(&words[0], &words[0], 0, 5, NULL),
			 3);
	ck_assert_int_eq(fib_futex_requeue(&words[0], twin, 0, 2, NULL), 2);
	ck_assert_int_eq(fib_futex_wake(twin, 5, FIB_FUTEX_ANY), 2);
	ck_assert_int_eq(fib_futex_wake(&words[0], 5, FIB_FUTEX_ANY), 1);
	for (int i = 0; i < 3; i++)
		finish(&c[i], 0);
}

/*
 * Who has moved and gives up leaves the place where it is now. (One that has given up
 * before it could be moved says nothing about that.)
 */
FIBER_TEST(requeue_then_timeout, 2)
{
	int moved = 0;

	while (!moved) {
		struct call c = { .uaddr = &word, .bitset = FIB_FUTEX_ANY };

		c.deadline_ns = fib_now_ns() + 50 * MSEC;
		c.fib = unit_go(wait_main, &c);
		while (!moved && !fib_load(&c.done, acquire)) {
			fib_sched_yield();
			moved = fib_futex_requeue(&word, &other, 0, 1, &word);
		}
		finish(&c, -ETIMEDOUT);
	}
	ck_assert_int_eq(fib_futex_wake(&other, 1, FIB_FUTEX_ANY), 0);
	ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 0);
}

/* FUTEX_WAKE_OP beside the kernel's own: every op, many operands. */
FIBER_TEST(wake_op_as_the_kernel, 1)
{
	static const int args[] = { 0, 1, 3, 31, 2047, -1, -2048 };

	for (int op = 0; op < 16; op++)
		for (int cmp = 0; cmp < 8; cmp++)
			for (unsigned i = 0; i < FIB_ARRAY_SIZE(args); i++)
				for (unsigned k = 0; k < FIB_ARRAY_SIZE(args);
				     k++) {
					uint32_t code =
						(uint32_t)op << 28 |
						(uint32_t)cmp << 24 |
						((uint32_t)args[i] & 0xfff)
							<< 12 |
						((uint32_t)args[k] & 0xfff);
					static uint32_t a[2], b[2];
					long want;
					int got;

					a[0] = a[1] = 0;
					b[0] = b[1] = 0x80000005u + k;
					want = fib_raw(SYS_futex, &a[0],
						       FUTEX_WAKE_OP_PRIVATE, 1,
						       1, &b[0], code);
					got = fib_futex_wake_op(&a[1], &b[1], 1,
								1, code);
					ck_assert_msg(
						got == want && b[0] == b[1],
						"op %#x: %d, not %ld; %#x, not "
						"%#x",
						code, got, want, b[1], b[0]);
				}
}

FIBER_TEST(wake_op, 2)
{
	uint32_t set1 = FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0);
	struct call c[4];

	go(&c[0], &word, FIB_FUTEX_ANY);
	go(&c[1], &word, FIB_FUTEX_ANY);
	go(&c[2], &other, FIB_FUTEX_ANY);
	go(&c[3], &other, FIB_FUTEX_ANY);
	/* other was 0: both are woken */
	ck_assert_int_eq(fib_futex_wake_op(&word, &other, 1, 1, set1), 2);
	ck_assert_uint_eq(other, 1);
	finish(&c[0], 0);
	finish(&c[2], 0);
	/* other was 1: only the first */
	ck_assert_int_eq(fib_futex_wake_op(&word, &other, 1, 1, set1), 1);
	finish(&c[1], 0);
	ck_assert(waits(&c[3]));
	ck_assert_int_eq(fib_futex_wake(&other, 1, FIB_FUTEX_ANY), 1);
	finish(&c[3], 0);
}

static void *wake_from_thread(void *arg)
{
	while (!fib_futex_wake(&word, 1, FIB_FUTEX_ANY))
		sched_yield();
	return NULL;
}

FIBER_TEST(wake_by_a_thread, 1)
{
	pthread_t t;

	unit_thread(&t, wake_from_thread, NULL);
	ck_assert_int_eq(fib_futex_wait(&word, 0, FIB_FUTEX_ANY, FIB_NEVER), 0);
	pthread_join(t, NULL);
}

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	greg_t *rip = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
	uintptr_t to = fib_fault_fixup((uintptr_t)*rip);

	if (!to)
		fib_panic("a fault of another kind", __FILE__, __LINE__);
	*rip = (greg_t)to;
}

FIBER_TEST(no_memory_there, 1)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO };
	uint32_t *none = mmap(NULL, FIB_PAGE, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t zero = 0;

	sigaction(SIGSEGV, &sa, NULL);
	ck_assert_int_eq(fib_futex_wait(none, 0, FIB_FUTEX_ANY, FIB_NEVER),
			 -EFAULT);
	ck_assert_int_eq(fib_futex_requeue(none, &word, 1, 1, &zero), -EFAULT);
	ck_assert_int_eq(fib_futex_wake_op(&word, none, 1, 1, 0), -EFAULT);
	/* waking needs no look at it, and the locks are free again */
	ck_assert_int_eq(fib_futex_wake(none, 1, FIB_FUTEX_ANY), 0);
	ck_assert_int_eq(fib_futex_requeue(none, &word, 1, 1, NULL), 0);
}

/* Who waits is forgotten there, and never ends. */
FIBER_TEST(reset, 2)
{
	struct call c;

	go(&c, &word, FIB_FUTEX_ANY);
	fib_futex_reset();
	ck_assert_int_eq(fib_futex_wake(&word, 1, FIB_FUTEX_ANY), 0);
	_exit(0);
}

TCase *unit_futex(void)
{
	TCase *t = tcase_create("futex");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, value_differs);
	tcase_add_test(t, wake_counts);
	tcase_add_test(t, table_grows);
	tcase_add_test(t, bitset);
	tcase_add_test(t, timeout);
	tcase_add_test(t, woken_in_time);
	tcase_add_test(t, attention);
	tcase_add_test(t, requeue);
	tcase_add_test(t, cmp_requeue);
	tcase_add_test(t, requeue_nearby);
	tcase_add_test(t, requeue_then_timeout);
	tcase_add_test(t, wake_op_as_the_kernel);
	tcase_add_test(t, wake_op);
	tcase_add_test(t, wake_by_a_thread);
	tcase_add_test(t, no_memory_there);
	tcase_add_exit_test(t, reset, 0);
	return t;
}
