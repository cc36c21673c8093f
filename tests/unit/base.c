/* Lists, the lock, the clock, and loads that may fault. */
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include "runtime/fault.h"
#include "tests/unit/unit.h"

struct item {
	int value;
	struct fib_list node;
};

START_TEST(list_order)
{
	struct fib_list head;
	struct item it[5];
	int expect = 0;

	fib_list_init(&head);
	ck_assert(fib_list_empty(&head));
	for (int i = 0; i < 5; i++) {
		it[i].value = i;
		fib_list_add_tail(&head, &it[i].node);
	}
	fib_list_for_each (n, &head) {
		struct item *x = fib_container_of(n, struct item, node);

		ck_assert_int_eq(x->value, expect++);
	}
	ck_assert_int_eq(expect, 5);
	ck_assert(!fib_list_empty(&head));
}
END_TEST

START_TEST(list_delete_while_walking)
{
	struct fib_list head;
	struct item it[5];
	int seen = 0;

	fib_list_init(&head);
	for (int i = 0; i < 5; i++) {
		it[i].value = i;
		fib_list_add_tail(&head, &it[i].node);
	}
	fib_list_for_each (n, &head) {
		if (fib_container_of(n, struct item, node)->value % 2 == 0)
			fib_list_del(n);
		seen++;
	}
	ck_assert_int_eq(seen, 5);
	ck_assert_ptr_eq(head.next, &it[1].node);
	ck_assert_ptr_eq(head.next->next, &it[3].node);
	ck_assert_ptr_eq(head.prev, &it[3].node);
	/* a node that was taken out is a list of its own */
	ck_assert(fib_list_empty(&it[0].node));
	fib_list_del(&it[0].node);
	fib_list_del(&it[1].node);
	fib_list_del(&it[3].node);
	ck_assert(fib_list_empty(&head));
}
END_TEST

static struct fib_lock lock = FIB_LOCK(STACK);
static long counter;

static void *count_up(void *arg)
{
	for (int i = 0; i < 100000; i++) {
		fib_lock(&lock);
		counter++;
		fib_unlock(&lock);
	}
	return NULL;
}

START_TEST(lock_excludes)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, count_up, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_int_eq(counter, 400000);
	ck_assert_int_eq(fib_load(&lock.word, relaxed), 0);
}
END_TEST

static void *take_once(void *arg)
{
	fib_lock(&lock);
	counter = 1;
	fib_unlock(&lock);
	return NULL;
}

START_TEST(lock_sleeps)
{
	struct timespec ts = { 0, 100 * MSEC };
	uint64_t cpu;
	pthread_t t;

	ck_assert(fib_trylock(&lock));
	ck_assert(!fib_trylock(&lock));
	pthread_create(&t, NULL, take_once, NULL);
	/* 2: the other one is on its way into the kernel */
	while (fib_load(&lock.word, relaxed) != 2)
		sched_yield();
	cpu = unit_cpu_ns();
	fib_raw(SYS_nanosleep, &ts, 0);
	ck_assert_uint_lt(unit_cpu_ns() - cpu, 10 * MSEC);
	ck_assert_int_eq(counter, 0);
	fib_unlock(&lock);
	pthread_join(t, NULL);
	ck_assert_int_eq(counter, 1);
}
END_TEST

START_TEST(ns_add_saturates)
{
	ck_assert_uint_eq(fib_ns_add(1, 2), 3);
	ck_assert(fib_ns_add(FIB_NEVER, 1) == FIB_NEVER);
	ck_assert(fib_ns_add(5, FIB_NEVER - 2) == FIB_NEVER);
	ck_assert(fib_ns_add(FIB_NEVER - 2, 2) == FIB_NEVER);
}
END_TEST

static uint64_t libc_now(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * FIB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

START_TEST(clock_agrees)
{
	for (int vdso = 0; vdso < 2; vdso++) {
		uint64_t a, b, c;

		if (vdso)
			fib_clock_init(getauxval(AT_SYSINFO_EHDR));
		a = libc_now(CLOCK_MONOTONIC);
		b = fib_now_ns();
		c = libc_now(CLOCK_MONOTONIC);
		ck_assert_uint_le(a, b);
		ck_assert_uint_le(b, c);
		a = libc_now(CLOCK_REALTIME);
		ck_assert_int_ge(fib_clock_ns(CLOCK_REALTIME), (int64_t)a);
		ck_assert_int_eq(fib_clock_ns(9999), -EINVAL);
	}
}
END_TEST

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	greg_t *rip = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
	uintptr_t to = fib_fault_fixup((uintptr_t)*rip);

	if (!to)
		fib_panic("a fault of another kind", __FILE__, __LINE__);
	*rip = (greg_t)to;
}

START_TEST(peek_faults)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO };
	uint32_t word = 7, val = 0;
	void *none = mmap(NULL, FIB_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sigaction(SIGSEGV, &sa, NULL);
	ck_assert_int_eq(fib_peek32(&word, &val), 0);
	ck_assert_uint_eq(val, 7);
	ck_assert_int_eq(fib_peek32((void *)((char *)&word + 1), &val),
			 -EINVAL);
	ck_assert_int_eq(fib_peek32(none, &val), -EFAULT);
	ck_assert_int_eq(fib_peek32(NULL, &val), -EFAULT);
	ck_assert_uint_eq(val, 7);
	ck_assert_uint_eq(fib_fault_fixup((uintptr_t)fib_now_ns), 0);
}
END_TEST

START_TEST(write_faults)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO };
	uint32_t word = 7, was = 6;
	uint32_t *ro = mmap(NULL, 2 * FIB_PAGE, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[8] = "abcdefg";

	sigaction(SIGSEGV, &sa, NULL);
	ck_assert_int_eq(fib_cas32(&word, &was, 9), 0);
	ck_assert_uint_eq(was, 7);
	ck_assert_int_eq(fib_cas32(&word, &was, 9), 1);
	ck_assert_uint_eq(word, 9);
	ck_assert_int_eq(fib_touch32(&word), 0);
	ck_assert_uint_eq(word, 9);
	ck_assert_int_eq(fib_poke32(&word, 5), 0);
	ck_assert_uint_eq(word, 5);
	ck_assert_int_eq(fib_copy(&word, text, 3), 0);
	ck_assert_int_eq(memcmp(&word, "abc", 4), 0);

	was = 0;
	ck_assert_int_eq(fib_cas32(ro, &was, 1), -EFAULT);
	ck_assert_int_eq(fib_cas32((void *)((char *)&word + 1), &was, 1),
			 -EINVAL);
	ck_assert_int_eq(fib_touch32(ro), -EFAULT);
	ck_assert_int_eq(fib_touch32((void *)((char *)&word + 2)), -EINVAL);
	ck_assert_int_eq(fib_poke32(ro, 1), -EFAULT);
	ck_assert_int_eq(fib_copy(ro, text, 1), -EFAULT);
	munmap((char *)ro + FIB_PAGE, FIB_PAGE);
	ck_assert_int_eq(fib_copy(text, (char *)ro + FIB_PAGE - 4, 8), -EFAULT);
	munmap(ro, FIB_PAGE);
	ck_assert_int_eq(fib_cas32(ro, &was, 1), -EFAULT);
}
END_TEST

START_TEST(pages)
{
	char *p = fib_pages_alloc(3 * FIB_PAGE);

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < 3 * FIB_PAGE; i++)
		ck_assert_int_eq(p[i], 0);
	fib_pages_free(p, 3 * FIB_PAGE);
	ck_assert_ptr_null(fib_pages_alloc(1ul << 60));
}
END_TEST

TCase *unit_base(void)
{
	TCase *t = tcase_create("base");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, list_order);
	tcase_add_test(t, list_delete_while_walking);
	tcase_add_test(t, lock_excludes);
	tcase_add_test(t, lock_sleeps);
	tcase_add_test(t, ns_add_saturates);
	tcase_add_test(t, clock_agrees);
	tcase_add_test(t, peek_faults);
	tcase_add_test(t, write_faults);
	tcase_add_test(t, pages);
	return t;
}
