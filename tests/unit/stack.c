/* The pool of thread stacks, used as NPTL uses it. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "runtime/stack.h"
#include "tests/unit/unit.h"

#define SIZE (256ul * 1024)

static char *map(size_t size, size_t guard)
{
	long p = fib_stack_map(size, PROT_NONE);

	ck_assert(p > 0 || p < -4095);
	ck_assert_int_eq(fib_stack_protect((uintptr_t)p + guard, size - guard,
					   PROT_READ | PROT_WRITE),
			 0);
	return (char *)p;
}

START_TEST(map_and_find)
{
	char *p = map(SIZE, FIB_PAGE);

	memset(p + FIB_PAGE, 1, SIZE - FIB_PAGE);
	ck_assert(!fib_stack_unmap((uintptr_t)p, SIZE - FIB_PAGE, true));
	ck_assert(!fib_stack_unmap((uintptr_t)p + FIB_PAGE, SIZE, true));
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert(!fib_stack_unmap((uintptr_t)p, SIZE, true));
}
END_TEST

START_TEST(reuse_finds_nothing)
{
	char *p = map(SIZE, FIB_PAGE), *q;

	memset(p + FIB_PAGE, 0xff, SIZE - FIB_PAGE);
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	/* another size is another stack */
	q = map(SIZE * 2, FIB_PAGE);
	ck_assert_ptr_ne(p, q);
	q = map(SIZE, FIB_PAGE);
	ck_assert_ptr_eq(p, q);
	for (size_t i = FIB_PAGE; i < SIZE; i++)
		ck_assert_int_eq(p[i], 0);
	ck_assert_uint_eq(unit_stat(FIB_STAT_stacks_reused), 1);
	ck_assert_uint_eq(unit_stat(FIB_STAT_stacks_mapped), 2);
}
END_TEST

/* Of a thread's end there is a record, which the next one ends. */
START_TEST(ended_leaves_nothing)
{
	char *p = map(SIZE, FIB_PAGE);

	for (int i = 0; i < 2; i++) {
		ck_assert(fib_stack_begin((uintptr_t)p));
		memset(p + FIB_PAGE, 0xff, SIZE - FIB_PAGE);
		fib_stack_end((uintptr_t)p, (uintptr_t)p + SIZE - 6000, true);
		ck_assert_int_eq(p[FIB_PAGE], 0);
		ck_assert_int_eq(p[SIZE / 2], 0);
	}
	/* NPTL gives it to another one, which ends in a way of its own. */
	ck_assert(fib_stack_begin((uintptr_t)p));
	memset(p + FIB_PAGE, 0xff, SIZE - FIB_PAGE);
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	for (size_t i = FIB_PAGE; i < SIZE; i++)
		ck_assert_int_eq(p[i], 0);
	ck_assert(!fib_stack_begin((uintptr_t)p + FIB_PAGE));
}
END_TEST

/*
 * A thread upon which no page fault has come has left nothing where nothing was. What
 * was there before it is given back nevertheless.
 */
START_TEST(ended_without_a_fault)
{
	enum { AT = SIZE / 2 };
	char *p = map(SIZE, FIB_PAGE);
	uintptr_t base = (uintptr_t)p, sp = base + SIZE - 6000;

	/* fresh: that the call is not made, what is written by others shows */
	ck_assert(fib_stack_begin(base));
	p[AT] = 1;
	fib_stack_end(base, sp, false);
	ck_assert_int_eq(p[AT], 1);
	ck_assert(fib_stack_begin(base));
	fib_stack_end(base, sp, true);
	ck_assert_int_eq(p[AT], 0);
	/* after one that has left nothing */
	ck_assert(fib_stack_begin(base));
	p[AT] = 1;
	fib_stack_end(base, sp, false);
	ck_assert_int_eq(p[AT], 1);
	/* of one that was never told to have ended */
	ck_assert(fib_stack_begin(base));
	ck_assert(fib_stack_begin(base));
	fib_stack_end(base, sp, false);
	ck_assert_int_eq(p[AT], 0);
	/* the one before has ended further down */
	ck_assert(fib_stack_begin(base));
	fib_stack_end(base, base + AT, true);
	ck_assert(fib_stack_begin(base));
	p[AT] = 1;
	fib_stack_end(base, sp, false);
	ck_assert_int_eq(p[AT], 0);
	/* wiped; and where NPTL has written, and no thread has begun */
	for (int begins = 1; begins >= 0; begins--) {
		ck_assert(fib_stack_unmap(base, SIZE, true));
		ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
		ck_assert(!begins || fib_stack_begin(base));
		p[AT] = 1;
		if (begins)
			fib_stack_end(base, sp, false);
		ck_assert_int_eq(p[AT], 1);
	}
	ck_assert(fib_stack_unmap(base, SIZE, true));
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	ck_assert_int_eq(p[AT], 0);
}
END_TEST

static bool is_there(char *page)
{
	unsigned char is;

	ck_assert_int_eq(mincore(page, FIB_PAGE, &is), 0);
	return is & 1;
}

/* Threads that touch @n bytes of their stack: is the last page there for the next? */
static bool kept_after(char *p, size_t n, int threads)
{
	for (int i = 0; i < threads; i++) {
		ck_assert(fib_stack_begin((uintptr_t)p));
		p[SIZE - n] = 1;
		fib_stack_end((uintptr_t)p, (uintptr_t)p + SIZE - 3000, true);
		ck_assert_int_eq(p[SIZE / 2], 0);
	}
	return is_there(p + SIZE - n / FIB_PAGE * FIB_PAGE);
}

/* What threads have on their stacks is kept, and no more than that. */
START_TEST(kept_as_it_is_used)
{
	enum { DEEP = 5 * 4096, DEEPER = 7 * 4096, ENDS = 400 };
	char *p = map(SIZE, FIB_PAGE);

	ck_assert(!kept_after(p, DEEPER, ENDS));
	ck_assert(kept_after(p, DEEP, ENDS));
	ck_assert(!kept_after(p, DEEPER, ENDS));
	/* the next one finds nothing of it */
	ck_assert(kept_after(p, DEEP, ENDS));
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	for (size_t i = FIB_PAGE; i < SIZE; i++)
		ck_assert_int_eq(p[i], 0);
	memset(p + SIZE - 100, 1, 100);
	ck_assert(kept_after(p, DEEP, 1));
	for (int i = 0; i < ENDS; i++) {
		ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
		ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
		kept_after(p, 100, 1);
	}
	ck_assert(!is_there(p + SIZE - DEEP));
}
END_TEST

/* Pages that threads leave as they were are not wiped, and so are not there. */
START_TEST(holes)
{
	enum { BUFFER = 6 * 4096, ENDS = 400 };
	char *p = map(SIZE, FIB_PAGE);
	uintptr_t base = (uintptr_t)p, sp = base + SIZE - 3000;

	for (int i = 0; i < ENDS; i++) {
		ck_assert(fib_stack_begin(base));
		p[SIZE - 100] = p[SIZE - 5000] = p[SIZE - BUFFER] = 1;
		fib_stack_end(base, sp, true);
	}
	ck_assert(madvise(p + SIZE - BUFFER, BUFFER, MADV_DONTNEED) == 0);
	ck_assert(fib_stack_begin(base));
	memset(p + SIZE - 100, 1, 100);
	p[SIZE - 5000] = p[SIZE - BUFFER] = 1;
	fib_stack_end(base, sp, true);
	ck_assert(fib_stack_unmap(base, SIZE, true));
	for (int page = 1; page <= 6; page++)
		ck_assert_int_eq(is_there(p + SIZE - page * FIB_PAGE),
				 page <= 2 || page == 6);
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	for (size_t i = FIB_PAGE; i < SIZE; i++)
		ck_assert_int_eq(p[i], 0);
}
END_TEST

START_TEST(guard_faults)
{
	char *p = map(SIZE, 2 * FIB_PAGE);

	p[2 * FIB_PAGE] = 1;
	*(volatile char *)(p + 2 * FIB_PAGE - 1) = 1;
}
END_TEST

START_TEST(guard_of_a_reused_stack_faults)
{
	char *p = map(SIZE, FIB_PAGE);

	fib_stack_unmap((uintptr_t)p, SIZE, true);
	ck_assert_ptr_eq(map(SIZE, 3 * FIB_PAGE), p);
	p[3 * FIB_PAGE] = 1;
	*(volatile char *)(p + 3 * FIB_PAGE - 1) = 1;
}
END_TEST

START_TEST(guard_shrinks)
{
	char *p = map(SIZE, 3 * FIB_PAGE);

	fib_stack_unmap((uintptr_t)p, SIZE, true);
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	memset(p + FIB_PAGE, 1, SIZE - FIB_PAGE);
}
END_TEST

START_TEST(exec_keeps_the_guard)
{
	char *p = map(SIZE, FIB_PAGE);
	int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;

	ck_assert_int_eq(fib_stack_protect((uintptr_t)&rwx, 4, PROT_NONE), 1);
	ck_assert_int_eq(fib_stack_protect((uintptr_t)p + FIB_PAGE,
					   SIZE - FIB_PAGE, rwx),
			 0);
	p[FIB_PAGE] = (char)0xc3;
	((void (*)(void))(p + FIB_PAGE))();
	*(volatile char *)(p + FIB_PAGE - 1) = 1;
}
END_TEST

/* What is opened at once has no guard, whatever was there before. */
START_TEST(open_from_the_start)
{
	char *p = map(SIZE, 2 * FIB_PAGE);

	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_int_eq(fib_stack_map(SIZE, PROT_READ | PROT_WRITE), (long)p);
	memset(p, 1, SIZE);
}
END_TEST

/* As NPTL does from glibc 2.42 on: open from the start, the guard by madvise. */
static char *map_and_guard(size_t size, size_t guard)
{
	long p = fib_stack_map(size, PROT_READ | PROT_WRITE);

	ck_assert(p > 0 || p < -4095);
	ck_assert_int_eq(fib_stack_guard((uintptr_t)p, guard, true), 0);
	return (char *)p;
}

START_TEST(advised_guard_is_of_one_thread)
{
	char *p = map_and_guard(SIZE, 3 * FIB_PAGE);

	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_ptr_eq(map_and_guard(SIZE, FIB_PAGE), p);
	memset(p + FIB_PAGE, 1, SIZE - FIB_PAGE);
	/* nearly all of it: what is kept warm is not */
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_ptr_eq(map_and_guard(SIZE, SIZE - FIB_PAGE), p);
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert_int_eq(fib_stack_map(SIZE, PROT_READ | PROT_WRITE), (long)p);
	memset(p, 1, SIZE);
}
END_TEST

/* NPTL gives a stack that it has kept to a thread with another guard. */
START_TEST(advised_guard_grows_and_shrinks)
{
	char *p = map_and_guard(SIZE, FIB_PAGE);

	ck_assert_int_eq(fib_stack_guard((uintptr_t)p, 4 * FIB_PAGE, true), 0);
	ck_assert_int_eq(fib_stack_guard((uintptr_t)p + 2 * FIB_PAGE,
					 2 * FIB_PAGE, false),
			 0);
	memset(p + 2 * FIB_PAGE, 1, SIZE - 2 * FIB_PAGE);
	/* neither of these is a guard of NPTL's */
	ck_assert_int_eq(
		fib_stack_guard((uintptr_t)p + FIB_PAGE, FIB_PAGE, true), 1);
	ck_assert_int_eq(fib_stack_guard((uintptr_t)p, FIB_PAGE, false), 1);
	ck_assert_int_eq(fib_stack_guard((uintptr_t)&p, FIB_PAGE, true), 1);
	*(volatile char *)(p + 2 * FIB_PAGE - 1) = 1;
}
END_TEST

START_TEST(trim)
{
	char *p = map(SIZE, FIB_PAGE), *q = map(SIZE, FIB_PAGE);

	fib_stack_trim(true);
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert(!fib_stack_trim(false));
	/* wanted meanwhile */
	ck_assert_ptr_eq(map(SIZE, FIB_PAGE), p);
	ck_assert(fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert(!fib_stack_trim(false));
	ck_assert(fib_stack_trim(false));
	ck_assert(!fib_stack_unmap((uintptr_t)p, SIZE, true));
	ck_assert(fib_stack_unmap((uintptr_t)q, SIZE, true));
	ck_assert(fib_stack_trim(true));
	ck_assert(!fib_stack_unmap((uintptr_t)q, SIZE, true));
}
END_TEST

/* More than the pool keeps, several times over. */
START_TEST(churn)
{
	enum { N = 3000 };
	static char *p[N];
	uint64_t t = fib_now_ns();

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			p[i] = map(64 * 1024, FIB_PAGE);
			p[i][64 * 1024 - 1] = 1;
		}
		for (int i = 0; i < N; i++)
			ck_assert(fib_stack_unmap((uintptr_t)p[i], 64 * 1024,
						  true));
	}
	ck_assert_uint_lt(fib_now_ns() - t, 3000 * MSEC);
}
END_TEST

static void open_above(long p, size_t guard)
{
	ck_assert_int_eq(fib_stack_protect((uintptr_t)p + guard, SIZE - guard,
					   PROT_READ | PROT_WRITE),
			 0);
}

/*
 * A guard of another size than the last one's: the stack is found without a walk
 * through the table, which would have the kernel map its pages.
 */
START_TEST(guards_of_many_sizes)
{
	struct rusage before, after;
	long p[3];

	for (unsigned i = 0; i < 3; i++)
		p[i] = fib_stack_map(SIZE, PROT_NONE);
	open_above(p[0], FIB_PAGE);
	getrusage(RUSAGE_SELF, &before);
	open_above(p[1], 3 * FIB_PAGE);
	open_above(p[2], 2 * FIB_PAGE);
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_minflt - before.ru_minflt, 3);
	*(char *)(p[1] + 3 * FIB_PAGE) = 1;
	*(char *)(p[2] + 2 * FIB_PAGE) = 1;
}
END_TEST

TCase *unit_stack(void)
{
	TCase *t = tcase_create("stack");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, map_and_find);
	tcase_add_test(t, reuse_finds_nothing);
	tcase_add_test(t, ended_leaves_nothing);
	tcase_add_test(t, ended_without_a_fault);
	tcase_add_test(t, kept_as_it_is_used);
	tcase_add_test(t, holes);
	tcase_add_test_raise_signal(t, guard_faults, SIGSEGV);
	tcase_add_test_raise_signal(t, guard_of_a_reused_stack_faults, SIGSEGV);
	tcase_add_test(t, guard_shrinks);
	tcase_add_test_raise_signal(t, exec_keeps_the_guard, SIGSEGV);
	tcase_add_test(t, open_from_the_start);
	tcase_add_test(t, advised_guard_is_of_one_thread);
	tcase_add_test_raise_signal(t, advised_guard_grows_and_shrinks,
				    SIGSEGV);
	tcase_add_test(t, guards_of_many_sizes);
	tcase_add_test(t, trim);
	tcase_add_test(t, churn);
	return t;
}
