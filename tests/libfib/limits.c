/* What a fiber costs, and what happens where there is no more. */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static struct fib_sched *sched;
static struct fib_sem gate = FIB_SEM_INIT(0);
static struct fib_mutex mutex = FIB_MUTEX_INIT;
static struct fib_cond cond = FIB_COND_INIT;
static struct fib_channel *channel;
static atomic_int entered, ran;
static int wanted;

static bool all_entered(void)
{
	return entered == wanted;
}

static void wait_at_gate(void *arg)
{
	entered++;
	OK(fib_sem_wait(&gate, FIB_NEVER));
	ran++;
}

/* What the kernel charges: resident pages, and the page tables to them. */
static long memory(void)
{
	long rss = 0, tables = 0, n;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %ld kB", &n) == 1)
			rss = n;
		if (sscanf(line, "VmPTE: %ld kB", &n) == 1)
			tables = n;
	}
	fclose(f);
	ck_assert_int_gt(rss, 0);
	ck_assert_int_gt(tables, 0);
	return (rss + tables) * 1024;
}

/* One page of its stack, its entry, and its share of page tables. */
START_TEST(memory_of_a_fiber)
{
	long before, each;

	wanted = 10000;
	sched = started(1, false);
	before = memory();
	for (int i = 0; i < wanted; i++)
		OK(fib_sched_submit(sched, wait_at_gate, NULL, FIB_ANY_THREAD));
	until(all_entered);
	each = (memory() - before) / wanted;
	ck_assert_int_ge(each, 512);
	ck_assert_msg(each <= 8192, "%ld bytes for each", each);
	for (int i = 0; i < wanted; i++)
		OK(fib_sem_post(&gate));
	finish(sched);
	ck_assert_int_eq(ran, wanted);
}
END_TEST

/* From now on the process gets no more address space. */
static void no_more_memory(void)
{
	struct rlimit lim;

	OK(getrlimit(RLIMIT_AS, &lim));
	lim.rlim_cur = 1;
	OK(setrlimit(RLIMIT_AS, &lim));
	ck_assert_ptr_eq(
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		MAP_FAILED);
}

/* A worker has room for so many: FIB_TIMERS_FEW of runtime/fiber.h. */
enum { FEW = 16 };
static struct fib_sem held = FIB_SEM_INIT(0);

static void holds_a_timer(void *arg)
{
	entered++;
	OK(fib_sem_wait(&held, 60 * SEC));
}

/* Others have armed as many as there is room for: there is none for the next. */
static void waits_without_a_timer(void *arg)
{
	int v = 0, r = 0;

	while (entered < FEW)
		OK(fib_yield_ready());
	no_more_memory();
	switch ((intptr_t)arg) {
	case 0:
		r = fib_sleep(MSEC);
		break;
	case 1:
		r = fib_sem_wait(&gate, SEC);
		break;
	case 2:
		r = fib_mutex_timedlock(&mutex, SEC);
		break;
	case 3:
		OK(fib_mutex_lock(&mutex));
		r = fib_cond_wait(&cond, &mutex, SEC);
		OK(fib_mutex_unlock(&mutex));
		break;
	default:
		r = fib_channel_recv(channel, &v, SEC);
	}
	ck_assert_int_eq(r, -ENOMEM);
	/* what needs none still works */
	OK(fib_yield_ready());
	OK(fib_sem_post(&gate));
	OK(fib_sem_wait(&gate, FIB_NEVER));
	for (int i = 0; i < FEW; i++)
		OK(fib_sem_post(&held));
	ran++;
}

START_TEST(no_memory_for_a_timer)
{
	struct fib_sched *s = started(1, false);

	for (int i = 0; i < FEW; i++)
		OK(fib_sched_submit(s, holds_a_timer, NULL, FIB_ANY_THREAD));
	OK(fib_channel_create(&channel, sizeof(int), 0));
	if (_i == 2)
		OK(fib_mutex_lock(&mutex));
	OK(fib_sched_submit(s, waits_without_a_timer, (void *)(intptr_t)_i,
			    FIB_ANY_THREAD));
	OK(fib_sched_stop(s));
	ck_assert_int_eq(ran, 1);
}
END_TEST

static void deep(int n)
{
	volatile char frame[1000];

	frame[0] = (char)n;
	if (n)
		deep(n - 1);
	else
		OK(fib_yield_ready());
	ck_assert_int_eq(frame[0], (char)n);
}

static void go_deep(void *arg)
{
	deep((int)(intptr_t)arg);
	ran++;
}

/* As deep as the program has asked for: 7 of 8 MB, in many at once. */
START_TEST(deep_stacks)
{
	sched = started(2, false);
	OK(fib_sched_set_stack_size(sched, 8 << 20));
	for (int i = 0; i < 50; i++)
		OK(fib_sched_submit(sched, go_deep,
				    (void *)(intptr_t)(SANITIZED ? 3000 : 6500),
				    FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(ran, 50);
}
END_TEST

static void sink(void *arg)
{
}

/* -EAGAIN, and no harm: there are a million entries. */
START_TEST(too_many_fibers)
{
	int n = 0, r;

	sched = started(1, true);
	while ((r = fib_sched_submit(sched, sink, NULL, FIB_ANY_THREAD)) == 0)
		n++;
	ck_assert_int_eq(r, -EAGAIN);
	ck_assert_int_gt(n, 1000000);
	ck_assert_uint_eq(fib_total(), (size_t)n);
	finish(sched);
	ck_assert_uint_eq(fib_total(), 0);
}
END_TEST

START_TEST(nothing_for_null)
{
	struct fib_job job = { .thread = FIB_ANY_THREAD };

	fib_mutex_init(NULL);
	fib_cond_init(NULL);
	fib_sem_init(NULL, 1);
	fib_task_put(NULL);
	ck_assert_int_eq(fib_mutex_trylock(NULL), -EINVAL);
	ck_assert_int_eq(fib_mutex_timedlock(NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_mutex_unlock(NULL), -EINVAL);
	ck_assert_int_eq(fib_cond_wait(NULL, &mutex, 1), -EINVAL);
	ck_assert_int_eq(fib_cond_wait(&cond, NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_cond_signal(NULL), -EINVAL);
	ck_assert_int_eq(fib_cond_broadcast(NULL), -EINVAL);
	ck_assert_int_eq(fib_sem_wait(NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_sem_post(NULL), -EINVAL);
	ck_assert_int_eq(fib_timer_cancel(NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_timer_refresh(NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_timer_reset(NULL, 1, 1, true), -EINVAL);
	ck_assert_int_eq(fib_sched_set_stack_size(NULL, 1 << 20), -EINVAL);
	ck_assert_int_eq(fib_sched_set_auto_stop(NULL, true), -EINVAL);
	ck_assert_int_eq(fib_sched_submit_batch(NULL, &job, 1), -EINVAL);
	ck_assert_str_eq(fib_sched_name(NULL), "");
	ck_assert_str_eq(fib_name(NULL), "");
	ck_assert_int_eq(fib_set_name(NULL, "x"), -EINVAL);
	ck_assert_int_eq(fib_read(INT_MAX, NULL, 1, 0), -EBADF);
	ck_assert_int_eq(fib_write(-5, "x", 1, 0), -EBADF);
	ck_assert_int_eq(fib_write_all(-5, NULL, 0, 0), 0);
	ck_assert_int_eq(fib_accept(-1, NULL, NULL, 0), -EBADF);
	ck_assert_int_eq(fib_connect(-1, NULL, 0, 0), -EBADF);
	ck_assert_int_eq(fib_wait_fd(-1, FIB_EV_READ, 0), -EBADF);
	ck_assert_int_eq(fib_close(INT_MIN), -EBADF);
	ck_assert_uint_eq(fib_id(NULL), 0);
}
END_TEST

TCase *library_limits(void)
{
	TCase *t = tcase_create("limits");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, nothing_for_null);
	tcase_add_test(t, deep_stacks);
	if (left_out("memory", "the sanitizer's own would be counted"))
		return t;
	tcase_add_test(t, memory_of_a_fiber);
	tcase_add_loop_test(t, no_memory_for_a_timer, 0, 5);
	tcase_add_test(t, too_many_fibers);
	return t;
}
