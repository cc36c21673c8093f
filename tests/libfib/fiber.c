/* Fibers by hand: create, resume, yield, reset, destroy. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "tests/libfib/library.h"

static int trace[16], ntrace;

static void steps(void *arg)
{
	trace[ntrace++] = *(int *)arg;
	OK(fib_yield());
	trace[ntrace++] = *(int *)arg + 1;
	OK(fib_yield_ready());
	trace[ntrace++] = *(int *)arg + 2;
}

START_TEST(resume_and_yield)
{
	int ten = 10;
	struct fib *f;

	OK(fib_create(&f, steps, &ten, 0));
	ck_assert_int_eq(fib_state(f), FIB_READY);
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_PARKED);
	trace[ntrace++] = 1;
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_READY);
	trace[ntrace++] = 2;
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	ck_assert_int_eq(fib_resume(f), -EINVAL);
	ck_assert_int_eq(ntrace, 5);
	ck_assert(!memcmp(trace, (int[]){ 10, 1, 11, 2, 12 }, 5 * sizeof(int)));
	OK(fib_destroy(f));
	ck_assert_int_eq(fib_destroy(f), -EINVAL);
	ck_assert_int_eq(fib_state(f), FIB_FREE);
}
END_TEST

static struct fib *main_fiber;

static void who_am_i(void *arg)
{
	ck_assert_ptr_eq(fib_current(), *(struct fib **)arg);
	ck_assert_ptr_ne(fib_current(), main_fiber);
	ck_assert_int_eq(fib_state(main_fiber), FIB_RUNNING);
	ck_assert_int_eq(fib_state(fib_current()), FIB_RUNNING);
}

START_TEST(current)
{
	struct fib *f;

	main_fiber = fib_current();
	ck_assert_ptr_nonnull(main_fiber);
	ck_assert_ptr_eq(fib_current(), main_fiber);
	ck_assert_int_eq(fib_yield(), -EPERM);
	ck_assert_int_eq(fib_yield_ready(), -EPERM);
	ck_assert_int_eq(fib_resume(main_fiber), -EINVAL);
	ck_assert_int_eq(fib_destroy(main_fiber), -EINVAL);
	ck_assert_int_eq(fib_reset(main_fiber, who_am_i, NULL), -EINVAL);
	OK(fib_create(&f, who_am_i, &f, 0));
	OK(fib_resume(f));
	ck_assert_ptr_eq(fib_current(), main_fiber);
	OK(fib_destroy(f));
}
END_TEST

START_TEST(ids_names_count)
{
	struct fib *f[100];
	int n = 0;
	size_t before = fib_total();

	fib_current();
	ck_assert_uint_eq(fib_total(), before);
	for (int i = 0; i < 100; i++) {
		OK(fib_create(&f[i], steps, &n, 0));
		ck_assert_uint_gt(fib_id(f[i]), 0);
		for (int k = 0; k < i; k++)
			ck_assert(fib_id(f[i]) != fib_id(f[k]));
	}
	ck_assert_uint_eq(fib_total(), before + 100);
	ck_assert_str_eq(fib_name(f[0]), "");
	OK(fib_set_name(f[0], "a name that is far too long"));
	ck_assert_str_eq(fib_name(f[0]), "a name that is ");
	ck_assert_int_eq(fib_set_name(f[0], NULL), -EINVAL);
	for (int i = 0; i < 100; i++)
		OK(fib_destroy(f[i]));
	ck_assert_uint_eq(fib_total(), before);
	ck_assert_uint_eq(fib_id(NULL), 0);
	ck_assert_int_eq(fib_state(NULL), FIB_FREE);
}
END_TEST

START_TEST(id_is_not_used_again)
{
	static uint64_t id[2000];
	struct fib *f;
	int n = 0, same = 0;

	for (int i = 0; i < 2000; i++) {
		OK(fib_create(&f, steps, &n, 0));
		id[i] = fib_id(f);
		OK(fib_destroy(f));
	}
	/* Not each by itself: Check writes a message for every assertion. */
	for (int i = 0; i < 2000; i++)
		for (int k = 0; k < i; k++)
			same += id[k] == id[i];
	ck_assert_int_eq(same, 0);
}
END_TEST

static char *where[2];

static void note_stack(void *arg)
{
	char here;

	where[*(int *)arg] = &here;
}

START_TEST(reset)
{
	int zero = 0, one = 1;
	struct fib *f;
	uint64_t id;

	OK(fib_create(&f, note_stack, &zero, 0));
	id = fib_id(f);
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	OK(fib_reset(f, note_stack, &one));
	ck_assert_int_eq(fib_state(f), FIB_READY);
	ck_assert(fib_id(f) == id);
	OK(fib_resume(f));
	/* a new function, at the same place of the same stack */
	ck_assert_ptr_eq(where[0], where[1]);
	/* before it has run it may be changed as well */
	OK(fib_reset(f, note_stack, &zero));
	OK(fib_reset(f, steps, &zero));
	OK(fib_resume(f));
	ck_assert_int_eq(fib_reset(f, steps, &zero), -EBUSY);
	ck_assert_int_eq(fib_destroy(f), -EBUSY);
	OK(fib_resume(f));
	OK(fib_resume(f));
	OK(fib_destroy(f));
}
END_TEST

static void misuse(void *arg)
{
	struct fib *me = fib_current();

	ck_assert_int_eq(fib_resume(me), -EBUSY);
	ck_assert_int_eq(fib_destroy(me), -EBUSY);
	ck_assert_int_eq(fib_reset(me, misuse, NULL), -EBUSY);
	ck_assert_int_eq(fib_ready(me), -EINVAL);
}

START_TEST(refused)
{
	struct fib *f = NULL;

	ck_assert_int_eq(fib_create(NULL, misuse, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_create(&f, NULL, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_create(&f, misuse, NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_create(&f, misuse, NULL, SIZE_MAX), -EINVAL);
	ck_assert_int_eq(fib_create(&f, misuse, NULL, SIZE_MAX / 4), -ENOMEM);
	ck_assert_ptr_null(f);
	ck_assert_int_eq(fib_resume(NULL), -EINVAL);
	ck_assert_int_eq(fib_destroy(NULL), -EINVAL);
	ck_assert_int_eq(fib_detach(NULL), -EINVAL);
	ck_assert_int_eq(fib_ready(NULL), -EINVAL);
	ck_assert_int_eq(fib_reset(NULL, misuse, NULL), -EINVAL);
	OK(fib_create(&f, misuse, NULL, FIB_STACK_MIN));
	ck_assert_int_eq(fib_reset(f, NULL, NULL), -EINVAL);
	OK(fib_resume(f));
	OK(fib_destroy(f));
}
END_TEST

static struct fib *outer, *inner;

static void inner_main(void *arg)
{
	trace[ntrace++] = 2;
	ck_assert_ptr_eq(fib_current(), inner);
	/* the one below runs: it waits for us */
	ck_assert_int_eq(fib_resume(outer), -EBUSY);
	OK(fib_yield());
	trace[ntrace++] = 5;
}

static void outer_main(void *arg)
{
	trace[ntrace++] = 1;
	OK(fib_resume(inner));
	ck_assert_ptr_eq(fib_current(), outer);
	trace[ntrace++] = 3;
	OK(fib_yield());
	trace[ntrace++] = 7;
}

START_TEST(nested)
{
	OK(fib_create(&outer, outer_main, NULL, 0));
	OK(fib_create(&inner, inner_main, NULL, 0));
	OK(fib_resume(outer));
	trace[ntrace++] = 4;
	/* another one may resume it */
	OK(fib_resume(inner));
	trace[ntrace++] = 6;
	OK(fib_resume(outer));
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(trace[i], i + 1);
	OK(fib_destroy(outer));
	OK(fib_destroy(inner));
}
END_TEST

static void keep_errno(void *arg)
{
	errno = EDOM;
	OK(fib_yield());
	ck_assert_int_eq(errno, EDOM);
	errno = ERANGE;
}

START_TEST(errno_is_the_fibers)
{
	struct fib *f;

	OK(fib_create(&f, keep_errno, NULL, 0));
	errno = ENOTTY;
	OK(fib_resume(f));
	ck_assert_int_eq(errno, ENOTTY);
	errno = EPIPE;
	OK(fib_resume(f));
	ck_assert_int_eq(errno, EPIPE);
	OK(fib_destroy(f));
}
END_TEST

static __thread int tls;

static __attribute__((noinline)) int *tls_now(void)
{
	__asm__ volatile("");
	return &tls;
}

static void set_tls(void *arg)
{
	*tls_now() = 1;
	OK(fib_yield());
	*tls_now() = 2;
}

static void *resume_in_thread(void *arg)
{
	ck_assert_int_eq(*tls_now(), 0);
	OK(fib_resume(arg));
	ck_assert_int_eq(*tls_now(), 2);
	return NULL;
}

/* Its own main fiber, and the TLS of who resumes it. */
START_TEST(in_another_thread)
{
	struct fib *f;
	pthread_t t;

	OK(fib_create(&f, set_tls, NULL, 0));
	OK(fib_resume(f));
	ck_assert_int_eq(*tls_now(), 1);
	OK(pthread_create(&t, NULL, resume_in_thread, f));
	OK(pthread_join(t, NULL));
	ck_assert_int_eq(*tls_now(), 1);
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	OK(fib_destroy(f));
}
END_TEST

static atomic_int inside, most, entered;
static atomic_bool race_over;

static void one_at_a_time(void *arg)
{
	while (!race_over) {
		int n = atomic_fetch_add(&inside, 1) + 1;

		if (n > most)
			most = n;
		entered++;
		atomic_fetch_sub(&inside, 1);
		fib_yield();
	}
}

static void *fight(void *arg)
{
	int got = 0;

	while (got < 20000) {
		int r = fib_resume(arg);

		ck_assert(r == 0 || r == -EBUSY);
		got += r == 0;
	}
	return NULL;
}

/* Two threads want the same fiber: it is never in both. */
START_TEST(fought_over)
{
	struct fib *f;
	pthread_t t;

	OK(fib_create(&f, one_at_a_time, NULL, 0));
	OK(pthread_create(&t, NULL, fight, f));
	fight(f);
	OK(pthread_join(t, NULL));
	race_over = true;
	OK(fib_resume(f));
	ck_assert_int_eq(most, 1);
	ck_assert_int_eq(entered, 40000);
	OK(fib_destroy(f));
}
END_TEST

static void return_at_once(void *arg)
{
	++*(int *)arg;
}

START_TEST(detached)
{
	size_t before = fib_total();
	struct fib *f;
	int n = 0;

	OK(fib_create(&f, return_at_once, &n, 0));
	OK(fib_detach(f));
	ck_assert_int_eq(fib_detach(f), -EINVAL);
	OK(fib_resume(f));
	ck_assert_uint_eq(fib_total(), before);
	OK(fib_create(&f, return_at_once, &n, 0));
	OK(fib_resume(f));
	OK(fib_detach(f));
	ck_assert_uint_eq(fib_total(), before);
	ck_assert_int_eq(n, 2);
}
END_TEST

static void recurse(void *arg)
{
	volatile char frame[4096];

	frame[0] = 1;
	if (arg)
		recurse((void *)frame);
	frame[1] = frame[0];
}

/* Below the stack lies a guard page, not a neighbour. */
START_TEST(guard)
{
	struct fib *f;

	OK(fib_create(&f, recurse, &f, FIB_STACK_MIN));
	fib_resume(f);
}
END_TEST

static void use_stack(void *arg)
{
	size_t n = *(size_t *)arg;
	volatile char *p = __builtin_alloca(n);

	for (size_t i = 0; i < n; i += 4096)
		p[i] = 1;
	OK(fib_yield());
}

START_TEST(stack_sizes)
{
	static size_t size[] = { FIB_STACK_MIN, 100000, FIB_STACK_DEFAULT,
				 8 << 20 };

	for (int i = 0; i < 4; i++) {
		size_t use = size[i] - 8192;
		struct fib *f;

		OK(fib_create(&f, use_stack, &use, size[i]));
		OK(fib_resume(f));
		OK(fib_resume(f));
		OK(fib_destroy(f));
	}
}
END_TEST

TCase *library_fiber(void)
{
	TCase *t = tcase_create("fiber");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, resume_and_yield);
	tcase_add_test(t, current);
	tcase_add_test(t, ids_names_count);
	tcase_add_test(t, id_is_not_used_again);
	tcase_add_test(t, reset);
	tcase_add_test(t, refused);
	tcase_add_test(t, nested);
	tcase_add_test(t, errno_is_the_fibers);
	tcase_add_test(t, in_another_thread);
	tcase_add_test(t, fought_over);
	tcase_add_test(t, detached);
	tcase_add_test(t, stack_sizes);
	if (!left_out("guard", "the sanitizer reports it, there is no signal"))
		tcase_add_test_raise_signal(t, guard, SIGSEGV);
	return t;
}
