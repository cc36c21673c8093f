/* Tasks: where they begin and go on, how they end, and who hears of it. */
#include <pthread.h>
#include "tests/libfib/kinds.h"

#define ROUNDS 20

static struct fib_executor *ex, *other, *all[KINDS];
static struct fib_sched *sched;
static struct fib_channel *ch;
static struct fib_task *task;
static _Atomic int ran;

static void setup(void)
{
	sched = started(2, false);
}

static void teardown(void)
{
	finish(sched);
}

/* --- where --------------------------------------------------------------- */

static struct fib_channel *there, *back;

/* On a thread of the test's own, so whoever wakes the task is none of it. */
static void *echo(void *arg)
{
	int v;

	while (fib_channel_recv(there, &v, FIB_NEVER) == 0)
		fib_channel_send(back, &v, FIB_NEVER);
	return NULL;
}

static long nap(void *arg)
{
	fib_sleep(MSEC);
	return (long)(intptr_t)arg;
}

/* The compiler would keep the address of one thread's errno over the sleep. */
__attribute__((noinline)) static int errno_now(void)
{
	__asm__ volatile("");
	return errno;
}

__attribute__((noinline)) static void set_errno(int value)
{
	__asm__ volatile("");
	errno = value;
}

static long wanders(void *arg)
{
	enum kind kind = (enum kind)(intptr_t)arg;
	struct fib *me = fib_current();
	uint64_t id = fib_id(me);

	here(kind);
	ck_assert_ptr_eq(fib_task_executor(), ex);
	for (int i = 0; i < ROUNDS; i++) {
		struct fib_task *t;
		uint64_t t0 = now_ns();
		int v = i;

		fib_sleep(MSEC);
		ck_assert_uint_ge(now_ns() - t0, MSEC);
		here(kind);
		OK(fib_channel_send(there, &v, FIB_NEVER));
		here(kind);
		OK(fib_channel_recv(back, &v, FIB_NEVER));
		ck_assert_int_eq(v, i);
		here(kind);
		OK(fib_task_start(&t, other, nap, (void *)(intptr_t)i));
		ck_assert_int_eq(fib_task_await(t), i);
		fib_task_put(t);
		here(kind);
		OK(fib_yield_ready());
		here(kind);
		/* a wait that is over before it begins */
		ck_assert_int_eq(fib_channel_recv(back, &v, 0), -ETIMEDOUT);
		ck_assert_int_eq(fib_channel_recv(back, &v, MSEC / 10),
				 -ETIMEDOUT);
		here(kind);
		set_errno(i);
		fib_sleep(1000);
		ck_assert_int_eq(errno_now(), i);
		ck_assert_ptr_eq(fib_task_executor(), ex);
		ck_assert_ptr_eq(fib_current(), me);
		ck_assert_uint_eq(fib_id(fib_current()), id);
	}
	ck_assert_ptr_eq(fib_sched_current(), kind == SCHED ? sched : NULL);
	return 1000 + kind;
}

/* A task starts on its executor, and after every await comes back to it. */
START_TEST(comes_back)
{
	pthread_t thread;

	OK(fib_channel_create(&there, sizeof(int), 0));
	OK(fib_channel_create(&back, sizeof(int), 0));
	OK(pthread_create(&thread, NULL, echo, NULL));
	ex = make((enum kind)_i, sched);
	other = make((enum kind)((_i + 1) % KINDS), sched);
	OK(fib_task_start(&task, ex, wanders, (void *)(intptr_t)_i));
	ck_assert_int_eq(fib_task_await(task), 1000 + _i);
	/* the result stays */
	ck_assert_int_eq(fib_task_await(task), 1000 + _i);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
	OK(fib_executor_destroy(other));
	OK(fib_channel_close(there));
	pthread_join(thread, NULL);
	OK(fib_channel_destroy(there));
	OK(fib_channel_destroy(back));
	ck_assert_ptr_null(fib_task_executor());
}
END_TEST

static long ends_the_other(void *arg)
{
	fib_sleep(MSEC);
	OK(fib_executor_destroy(other));
	here(LOOPER);
	return 0;
}

/* The last thread of one pool lets a task of another one go on. */
START_TEST(end_by_a_task)
{
	ex = make(LOOPER, sched);
	other = make((enum kind)_i, sched);
	for (int i = 0; i < 4; i++)
		OK(fib_task_start(NULL, other, nap, (void *)1));
	OK(fib_task_start(&task, ex, ends_the_other, NULL));
	OK(fib_task_await(task));
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

static long sleeper(void *arg)
{
	fib_sleep(30 * MSEC);
	atomic_fetch_add(&ran, 1);
	return 0;
}

/* A task that waits does not hold up its executor's thread. */
START_TEST(many_on_one_thread)
{
	uint64_t t0 = now_ns();

	ex = make(LOOPER, sched);
	for (int i = 0; i < 200; i++)
		OK(fib_task_start(NULL, ex, sleeper, NULL));
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(ran, 200);
	ck_assert_uint_lt(now_ns() - t0, 200 * 30 * MSEC / 2);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* fib_yield() in a task: fib_ready() lets it go on, at home. */
static struct fib *_Atomic held;

static long holds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&held, fib_current());
		OK(fib_yield());
		here((enum kind)(intptr_t)arg);
	}
	return ROUNDS;
}

START_TEST(hold_and_ready)
{
	ex = make((enum kind)_i, sched);
	OK(fib_task_start(&task, ex, holds, (void *)(intptr_t)_i));
	for (int i = 0; i < ROUNDS; i++) {
		struct fib *f;

		while (!(f = atomic_exchange(&held, NULL)))
			fib_sleep(MSEC / 10);
		OK(fib_ready(f));
	}
	ck_assert_int_eq(fib_task_await(task), ROUNDS);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

static void by_hand(void *arg)
{
	here((enum kind)(intptr_t)arg);
	fib_sleep(MSEC);
	here((enum kind)(intptr_t)arg);
	fib_yield();
	atomic_fetch_add(&ran, 1);
}

static long resumes(void *arg)
{
	struct fib *f;

	OK(fib_create(&f, by_hand, arg, 0));
	OK(fib_resume(f));
	here((enum kind)(intptr_t)arg);
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	return fib_destroy(f);
}

/* What a task resumes by hand waits as a part of the task. */
START_TEST(resume_in_a_task)
{
	ex = make((enum kind)_i, sched);
	OK(fib_task_start(&task, ex, resumes, (void *)(intptr_t)_i));
	ck_assert_int_eq(fib_task_await(task), 0);
	ck_assert_int_eq(ran, 1);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* --- how it ends --------------------------------------------------------- */

static long fails(void *arg)
{
	fib_sleep(MSEC);
	return -EXDEV;
}

static long carries(void *arg)
{
	struct fib_task *t;
	long r = fib_task_start(&t, other, arg ? carries : fails, NULL);

	OK(r);
	r = fib_task_await(t);
	fib_task_put(t);
	return r;
}

/* Errors are carried through. */
START_TEST(errors)
{
	ex = make((enum kind)_i, sched);
	other = make((enum kind)((_i + 2) % KINDS), sched);
	OK(fib_task_start(&task, ex, carries, &ex));
	ck_assert_int_eq(fib_task_await(task), -EXDEV);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
	OK(fib_executor_destroy(other));
}
END_TEST

static _Atomic int calls;
static int called[8];
static long results[8];

static void call(long result, void *arg)
{
	int i = calls;

	called[i] = (int)(intptr_t)arg;
	results[i] = result;
	here(LOOPER);
	ck_assert_ptr_eq(fib_task_executor(), ex);
	fib_sleep(MSEC);
	here(LOOPER);
	/* it would wait for itself */
	if (i < 2)
		ck_assert_int_eq(fib_task_await(task), -EDEADLK);
	atomic_fetch_add(&calls, 1);
}

static long gated(void *arg)
{
	int v;

	OK(fib_channel_recv(ch, &v, FIB_NEVER));
	return v;
}

static void add_calls(int from)
{
	int (*const add[])(struct fib_task *, void (*)(long, void *),
			   void *) = { fib_task_then, fib_task_catch,
				       fib_task_finally, fib_task_then,
				       fib_task_catch };

	for (int i = 0; i < 5; i++)
		OK(add[i](task, call, (void *)(intptr_t)(from + i)));
}

/*
 * then, catch and finally: on the task's executor, in the order in which they
 * were added, before await returns; and those that come when it has ended.
 */
START_TEST(callbacks)
{
	static const int good[] = { 0, 2, 3 }, bad[] = { 1, 2, 4 };
	const int *want = _i ? bad : good;
	int v = _i ? -ENOTDIR : 7;

	ex = make(LOOPER, sched);
	OK(fib_channel_create(&ch, sizeof(int), 0));
	OK(fib_task_start(&task, ex, gated, NULL));
	add_calls(0);
	ck_assert_int_eq(calls, 0);
	OK(fib_channel_send(ch, &v, FIB_NEVER));
	ck_assert_int_eq(fib_task_await(task), v);
	ck_assert_int_eq(calls, 3);
	atomic_store(&calls, 2);
	add_calls(0);
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(calls, 5);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(called[i], want[i]);
		ck_assert_int_eq(results[i], v);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(called[2 + i], want[i]);
		ck_assert_int_eq(results[2 + i], v);
	}
	/* there is nobody any more to call it */
	ck_assert_int_eq(fib_task_then(task, call, NULL), -ESHUTDOWN);
	OK(fib_executor_destroy(ex));
	/* a handle outlives the executor */
	ck_assert_int_eq(fib_task_await(task), v);
	ck_assert_int_eq(fib_task_finally(task, call, NULL), -ESHUTDOWN);
	ck_assert_int_eq(calls, 5);
	fib_task_put(task);
	OK(fib_channel_destroy(ch));
}
END_TEST

/* --- who awaits ---------------------------------------------------------- */

START_TEST(arguments)
{
	long r;

	ex = make(LOOPER, sched);
	ck_assert_int_eq(fib_task_start(&task, NULL, nap, NULL), -EINVAL);
	ck_assert_int_eq(fib_task_start(&task, ex, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_task_await(NULL), -EINVAL);
	ck_assert_int_eq(fib_task_await_for(NULL, 0, &r), -EINVAL);
	ck_assert_int_eq(fib_task_then(NULL, call, NULL), -EINVAL);
	OK(fib_task_start(&task, ex, nap, NULL));
	ck_assert_int_eq(fib_task_await_for(task, 0, NULL), -EINVAL);
	ck_assert_int_eq(fib_task_then(task, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_task_catch(task, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_task_finally(task, NULL, NULL), -EINVAL);
	fib_task_put(task);
	fib_task_put(NULL);
	OK(fib_executor_destroy(ex));
}
END_TEST

static long awaits(void *arg)
{
	long r = fib_task_await(task);

	atomic_fetch_add(&ran, 1);
	return r;
}

static void awaits_in_fiber(void *arg)
{
	ck_assert_int_eq(fib_task_await(task), 77);
	atomic_fetch_add(&ran, 1);
}

static long awaits_itself(void *arg)
{
	int v;

	OK(fib_channel_recv(ch, &v, FIB_NEVER));
	return fib_task_await(task);
}

/* Tasks, fibers and threads may await the same task. */
START_TEST(several_await)
{
	struct fib_task *t[KINDS];
	long result = -1;
	int v = 77;

	OK(fib_channel_create(&ch, sizeof(int), 0));
	ex = make(LOOPER, sched);
	OK(fib_task_start(&task, ex, gated, NULL));
	for (int i = 0; i < KINDS; i++) {
		all[i] = make((enum kind)i, sched);
		OK(fib_task_start(&t[i], all[i], awaits, NULL));
	}
	OK(fib_sched_submit(sched, awaits_in_fiber, NULL, FIB_ANY_THREAD));
	ck_assert_int_eq(fib_task_await_for(task, 0, &result), -ETIMEDOUT);
	ck_assert_int_eq(fib_task_await_for(task, 20 * MSEC, &result),
			 -ETIMEDOUT);
	ck_assert_int_eq(result, -1);
	ck_assert_int_eq(ran, 0);
	OK(fib_channel_send(ch, &v, FIB_NEVER));
	OK(fib_task_await_for(task, 10 * SEC, &result));
	ck_assert_int_eq(result, 77);
	for (int i = 0; i < KINDS; i++) {
		ck_assert_int_eq(fib_task_await(t[i]), 77);
		fib_task_put(t[i]);
		OK(fib_executor_destroy(all[i]));
	}
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

START_TEST(await_oneself)
{
	int v = 0;

	OK(fib_channel_create(&ch, sizeof(int), 0));
	ex = make((enum kind)_i, sched);
	OK(fib_task_start(&task, ex, awaits_itself, NULL));
	OK(fib_channel_send(ch, &v, FIB_NEVER));
	ck_assert_int_eq(fib_task_await(task), -EDEADLK);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* --- shutdown ------------------------------------------------------------ */

static void blocks(void *arg)
{
	fib_sem_post(arg);
	fib_sem_wait((struct fib_sem *)arg + 1, FIB_NEVER);
}

static void *shut(void *drain)
{
	return (void *)fib_executor_shutdown(ex, drain != NULL);
}

static void count(long result, void *arg)
{
	ck_assert_int_eq(result, -ECANCELED);
	here(LOOPER);
	atomic_fetch_add(&calls, 1);
}

/*
 * A task that waits is not dropped, nor does it keep its executor from being
 * closed: it comes to its end there. One that has not begun is dropped, and
 * whoever awaits it hears of it.
 */
START_TEST(dropped)
{
	struct fib_sem gate[2] = { FIB_SEM_INIT(0), FIB_SEM_INIT(0) };
	struct fib_task *begun, *queued;
	pthread_t thread;
	void *n;
	int v = 3;

	OK(fib_channel_create(&ch, sizeof(int), 0));
	ex = make(LOOPER, sched);
	OK(fib_task_start(&begun, ex, gated, NULL));
	OK(fib_executor_execute(ex, blocks, gate));
	OK(fib_sem_wait(&gate[0], FIB_NEVER));
	OK(fib_task_start(&queued, ex, sleeper, NULL));
	OK(fib_task_catch(queued, count, NULL));
	OK(pthread_create(&thread, NULL, shut, NULL));
	while (fib_task_start(NULL, ex, nap, NULL) != -ESHUTDOWN)
		fib_sleep(MSEC);
	fib_sem_post(&gate[1]);
	ck_assert_int_eq(fib_task_await(queued), -ECANCELED);
	ck_assert_int_eq(calls, 1);
	ck_assert_int_eq(ran, 0);
	OK(fib_channel_send(ch, &v, FIB_NEVER));
	ck_assert_int_eq(fib_task_await(begun), 3);
	pthread_join(thread, &n);
	ck_assert_int_ge((long)n, 1);
	fib_task_put(begun);
	fib_task_put(queued);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* A draining shutdown waits for tasks that wait. */
START_TEST(drained)
{
	ex = make((enum kind)_i, sched);
	for (int i = 0; i < 10; i++)
		OK(fib_task_start(NULL, ex, sleeper, NULL));
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(ran, 10);
	ck_assert_int_eq(fib_task_start(&task, ex, sleeper, NULL), -ESHUTDOWN);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* --- executors that refuse ----------------------------------------------- */

static long counts(void *arg)
{
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			own_refuse(3, (int)(intptr_t)arg);
		fib_sleep(MSEC);
		atomic_fetch_add(&ran, 1);
	}
	return 5;
}

/* A start that is refused is refused to the caller. */
START_TEST(start_refused)
{
	size_t fibers = fib_total();

	ex = make(CUSTOM, sched);
	own_refuse(1, -ENOSPC);
	ck_assert_int_eq(fib_task_start(&task, ex, counts, NULL), -ENOSPC);
	ck_assert_uint_eq(fib_total(), fibers);
	OK(fib_task_start(&task, ex, sleeper, NULL));
	ck_assert_int_eq(fib_task_await(task), 0);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* A step that is refused for lack of resources is offered again... */
START_TEST(step_refused)
{
	ex = make(CUSTOM, sched);
	OK(fib_task_start(&task, ex, counts, (void *)(intptr_t)-EAGAIN));
	ck_assert_int_eq(fib_task_await(task), 5);
	ck_assert_int_eq(ran, 3);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* ... and for any other reason, it is the end of the task. */
START_TEST(abandoned)
{
	ex = make(CUSTOM, sched);
	OK(fib_task_start(&task, ex, counts, (void *)(intptr_t)-ESHUTDOWN));
	ck_assert_int_eq(fib_task_await(task), -ECANCELED);
	ck_assert_int_eq(ran, 1);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* --- all at once --------------------------------------------------------- */

static long tree(void *arg)
{
	intptr_t depth = (intptr_t)arg;
	struct fib_task *t[2];
	long sum = 1;

	if (depth == 0)
		return 1;
	for (int i = 0; i < 2; i++)
		OK(fib_task_start(&t[i], all[(depth * 2 + i) % KINDS], tree,
				  (void *)(depth - 1)));
	for (int i = 0; i < 2; i++) {
		sum += fib_task_await(t[i]);
		fib_task_put(t[i]);
	}
	return sum;
}

/* A tree of tasks over all executors; nothing is left of them. */
START_TEST(tree_of_tasks)
{
	uint64_t end = now_ns() + 10 * SEC;
	size_t fibers = fib_total();

	for (int i = 0; i < KINDS; i++)
		all[i] = make((enum kind)i, sched);
	OK(fib_task_start(&task, all[0], tree, (void *)(intptr_t)6));
	ck_assert_int_eq(fib_task_await(task), 127);
	fib_task_put(task);
	for (int i = 0; i < KINDS; i++)
		OK(fib_executor_destroy(all[i]));
	OK(fib_sched_stop(sched));
	/* Threads of an executor of one's own may be a step behind. */
	while (fib_total() != fibers) {
		ck_assert_uint_lt(now_ns(), end);
		fib_sleep(MSEC);
	}
	OK(fib_sched_start(sched));
}
END_TEST

TCase *library_task(void)
{
	TCase *t = tcase_create("task");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, comes_back, 0, KINDS);
	tcase_add_loop_test(t, end_by_a_task, 0, KINDS);
	tcase_add_test(t, many_on_one_thread);
	tcase_add_loop_test(t, hold_and_ready, 0, KINDS);
	tcase_add_loop_test(t, resume_in_a_task, 0, KINDS);
	tcase_add_loop_test(t, errors, 0, KINDS);
	tcase_add_loop_test(t, callbacks, 0, 2);
	tcase_add_test(t, arguments);
	tcase_add_test(t, several_await);
	tcase_add_loop_test(t, await_oneself, 0, KINDS);
	tcase_add_test(t, dropped);
	tcase_add_loop_test(t, drained, 0, KINDS);
	tcase_add_test(t, start_refused);
	tcase_add_test(t, step_refused);
	tcase_add_test(t, abandoned);
	tcase_add_test(t, tree_of_tasks);
	return t;
}
