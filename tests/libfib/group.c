/* Groups, values of a fiber's own, the list of all fibers, and overflows. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/libfib/kinds.h"

static struct fib_sched *sched;
static struct fib_executor *ex;
static struct fib_group *group;
static _Atomic int begun, ended;

static void setup(void)
{
	sched = started(2, false);
}

static void teardown(void)
{
	finish(sched);
}

static long wait_long(void *arg)
{
	int r;

	begun++;
	r = fib_sleep(3600 * SEC);
	fib_shield_enter();
	fib_sleep(MSEC);
	fib_shield_leave();
	ended++;
	return r;
}

static long number(void *arg)
{
	begun++;
	fib_yield_ready();
	ended++;
	return (long)(intptr_t)arg;
}

static long starts_more(void *arg)
{
	intptr_t n = (intptr_t)arg;

	ck_assert_int_eq(fib_group_destroy(group), -EDEADLK);
	ck_assert_int_eq(fib_group_all(group, NULL, FIB_NEVER), -EDEADLK);
	for (intptr_t i = 0; i < n; i++)
		OK(fib_group_start(group, starts_more, (void *)(n - 1)));
	ended++;
	return n;
}

/* On each kind of executor. */
START_TEST(members)
{
	void *arg;
	long r, sum = 0;

	ex = make((enum kind)_i, sched);
	OK(fib_group_create(&group, ex));
	OK(fib_group_all(group, &r, 0));
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(fib_group_any(group, &r, NULL, FIB_NEVER), -ENOENT);
	for (intptr_t i = 1; i <= 10; i++)
		OK(fib_group_start(group, number, (void *)i));
	for (int i = 0; i < 10; i++) {
		OK(fib_group_any(group, &r, &arg, FIB_NEVER));
		ck_assert_int_eq(r, (intptr_t)arg);
		sum += r;
	}
	ck_assert_int_eq(sum, 55);
	ck_assert_int_eq(fib_group_any(group, &r, &arg, 0), -ENOENT);
	OK(fib_group_start(group, number, (void *)-5));
	OK(fib_group_all(group, &r, FIB_NEVER));
	ck_assert_int_eq(r, -5);
	ended = 0;
	OK(fib_group_start(group, starts_more, (void *)3));
	OK(fib_group_all(group, NULL, FIB_NEVER));
	ck_assert_int_eq(ended, 1 + 3 + 6 + 6);
	OK(fib_group_destroy(group));
	OK(fib_executor_destroy(ex));
}
END_TEST

/* The first that ends, and the others are cancelled. */
START_TEST(any_and_cancel)
{
	void *arg = NULL;
	long r;

	ex = make((enum kind)_i, sched);
	OK(fib_group_create(&group, ex));
	for (int i = 0; i < 4; i++)
		OK(fib_group_start(group, wait_long, NULL));
	ck_assert_int_eq(fib_group_all(group, &r, MSEC), -ETIMEDOUT);
	ck_assert_int_eq(fib_group_any(group, &r, NULL, MSEC), -ETIMEDOUT);
	OK(fib_group_start(group, number, (void *)7));
	OK(fib_group_any(group, &r, &arg, FIB_NEVER));
	ck_assert_int_eq(r, 7);
	ck_assert_int_eq((intptr_t)arg, 7);
	OK(fib_group_cancel(group));
	ck_assert_int_eq(fib_group_start(group, number, NULL), -ECANCELED);
	OK(fib_group_all(group, &r, FIB_NEVER));
	ck_assert_int_eq(r, -ECANCELED);
	/* who has begun has come to its end in its own way */
	ck_assert_int_eq(begun, ended);
	OK(fib_group_destroy(group));
	/* to destroy it is to cancel, too */
	OK(fib_group_create(&group, ex));
	for (int i = 0; i < 4; i++)
		OK(fib_group_start(group, wait_long, NULL));
	OK(fib_group_destroy(group));
	ck_assert_int_eq(begun, ended);
	OK(fib_executor_destroy(ex));
}
END_TEST

START_TEST(refused)
{
	ck_assert_int_eq(fib_group_create(NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_group_destroy(NULL), -EINVAL);
	ck_assert_int_eq(fib_group_cancel(NULL), -EINVAL);
	ck_assert_int_eq(fib_group_all(NULL, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_group_any(NULL, NULL, NULL, 0), -EINVAL);
	ex = make(ASYNC, sched);
	OK(fib_group_create(&group, ex));
	ck_assert_int_eq(fib_group_start(group, NULL, NULL), -EINVAL);
	fib_executor_shutdown(ex, true);
	ck_assert_int_eq(fib_group_start(group, number, NULL), -ESHUTDOWN);
	OK(fib_group_all(group, NULL, FIB_NEVER));
	OK(fib_group_destroy(group));
	OK(fib_executor_destroy(ex));
}
END_TEST

/* --- values of a fiber's own ------------------------------------------------- */

static unsigned key, more;
static _Atomic int destroyed;

static void destroy(void *v)
{
	ck_assert_ptr_null(fib_local_get(key));
	/* in the fiber, which may wait */
	fib_sleep(1);
	destroyed += (int)(intptr_t)v;
}

static void destroy_again(void *v)
{
	/* four times, and not for ever */
	OK(fib_local_set(more, v));
	destroyed++;
}

static void by_hand(void *arg)
{
	ck_assert_ptr_null(fib_local_get(key));
	OK(fib_local_set(key, (void *)100));
	fib_yield();
	ck_assert_ptr_eq(fib_local_get(key), (void *)100);
}

static void has_values(void *arg)
{
	struct fib *f;

	ck_assert_ptr_null(fib_local_get(key));
	OK(fib_local_set(key, arg));
	fib_yield_ready();
	OK(fib_create(&f, by_hand, NULL, 0));
	OK(fib_resume(f));
	ck_assert_ptr_eq(fib_local_get(key), arg);
	OK(fib_resume(f));
	OK(fib_destroy(f));
	ck_assert_ptr_eq(fib_local_get(key), arg);
}

static void *in_thread(void *arg)
{
	has_values(arg);
	return NULL;
}

START_TEST(values)
{
	unsigned keys[FIB_LOCAL_MAX];
	pthread_t t;
	int n = 1;

	ck_assert_int_eq(fib_local_create(NULL, NULL), -EINVAL);
	OK(fib_local_create(&key, destroy));
	for (intptr_t i = 1; i <= 20; i++)
		OK(fib_sched_submit(sched, has_values, (void *)i,
				    FIB_ANY_THREAD));
	OK(pthread_create(&t, NULL, in_thread, (void *)1000));
	OK(pthread_join(t, NULL));
	OK(fib_sched_stop(sched));
	ck_assert_int_eq(destroyed, 210 + 20 * 100 + 1000 + 100);
	while (fib_local_create(&keys[n], NULL) == 0)
		OK(fib_local_set(keys[n++], &n));
	ck_assert_int_eq(n, FIB_LOCAL_MAX);
	/* who comes after has no value of who was before */
	OK(fib_local_delete(keys[7]));
	ck_assert_int_eq(fib_local_delete(keys[7]), -EINVAL);
	ck_assert_ptr_null(fib_local_get(keys[7]));
	ck_assert_int_eq(fib_local_set(keys[7], &n), -EINVAL);
	OK(fib_local_create(&more, destroy_again));
	ck_assert_int_eq(more, keys[7]);
	ck_assert_ptr_null(fib_local_get(more));
	ck_assert_ptr_null(fib_local_get(FIB_LOCAL_MAX));
	ck_assert_int_eq(fib_local_set(FIB_LOCAL_MAX, &n), -EINVAL);
}
END_TEST

static void sets_more(void *arg)
{
	OK(fib_local_set(more, arg));
}

START_TEST(destroyed_again)
{
	OK(fib_local_create(&more, destroy_again));
	OK(fib_sched_submit(sched, sets_more, &more, FIB_ANY_THREAD));
	OK(fib_sched_stop(sched));
	ck_assert_int_eq(destroyed, 4);
}
END_TEST

/* --- fib_dump ---------------------------------------------------------------- */

static int ends[2];

static void waits_for_fd(void *arg)
{
	char c;

	fib_set_name(fib_current(), "reader\033");
	fib_read(ends[0], &c, 1, FIB_NEVER);
}

static char text[1 << 16];

static int file;
static int written;

static void on_signal(int sig)
{
	written = fib_dump(file);
}

static void dump(bool by_signal)
{
	ssize_t n;

	file = memfd_create("dump", MFD_CLOEXEC);
	ck_assert_int_ge(file, 0);
	if (by_signal)
		raise(SIGUSR1);
	else
		on_signal(0);
	OK(written);
	n = pread(file, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = 0;
	close(file);
}

START_TEST(dumped)
{
	struct fib *f, *g;
	char want[64];

	OK(pipe(ends));
	OK(fib_create(&f, waits_for_fd, NULL, 0));
	OK(fib_create(&g, waits_for_fd, NULL, 0));
	OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
	while (fib_state(f) != FIB_PARKED)
		sched_yield();
	signal(SIGUSR1, on_signal);
	dump(_i);
	snprintf(want, sizeof(want),
		 "fiber %d \"reader?\": waits for descriptor %d, in test, of ",
		 (int)fib_id(f), ends[0]);
	ck_assert_msg(strstr(text, want), "no \"%s\" in:\n%s", want, text);
	/* where it is: fib_leave(), ..., fib_read() */
	ck_assert_msg(strstr(text, "\n    #0 0x"), "%s", text);
	ck_assert_msg(strstr(text, "\n    #5 0x"), "%s", text);
	ck_assert_msg(SANITIZED || strstr(text, " libfib.so+0x"), "%s", text);
	snprintf(want, sizeof(want), "fiber %d: is ready, of ", (int)fib_id(g));
	ck_assert_msg(strstr(text, want), "no \"%s\" in:\n%s", want, text);
	ck_assert_msg(strstr(text, "\n2 fibers\n"), "%s", text);
	ck_assert_int_eq(fib_dump(-1), -EBADF);
	OK(fib_close(ends[0]));
	OK(fib_sched_stop(sched));
	OK(fib_destroy(f));
	OK(fib_destroy(g));
}
END_TEST

/* While fibers come and go on other threads. */
static void comes_and_goes(void *arg)
{
	fib_sleep(1000);
	if (!ended)
		fib_sched_submit(sched, comes_and_goes, NULL, FIB_ANY_THREAD);
}

START_TEST(dumped_in_motion)
{
	for (int i = 0; i < 50; i++)
		OK(fib_sched_submit(sched, comes_and_goes, NULL,
				    FIB_ANY_THREAD));
	for (int i = 0; i < 30; i++) {
		dump(false);
		ck_assert_msg(strstr(text, " fibers\n"), "%s", text);
	}
	ended = 1;
}
END_TEST

/* --- overflows --------------------------------------------------------------- */

static volatile int zero;

__attribute__((noinline)) static long deep(long n)
{
	volatile char page[2000];

	page[n % 2000] = (char)zero;
	return zero ? n : deep(n + 1) + page[n % 2000];
}

static void overflows(void *arg)
{
	fib_set_name(fib_current(), "too deep");
	deep(0);
}

static long overflows_task(void *arg)
{
	overflows(NULL);
	return 0;
}

static void on_segv(int sig)
{
	_exit(33);
}

/* _i: in a scheduler, by hand, in a task of a pool; with a handler before; no overflow */
static void run_into_it(int how)
{
	struct fib_sched *s;
	struct fib *f;

	if (how == 3)
		signal(SIGSEGV, on_segv);
	OK(fib_tell_overflow());
	OK(fib_tell_overflow());
	if (how == 4)
		*(volatile int *)16 = 1;
	if (how == 1) {
		fib_create(&f, overflows, NULL, 0);
		fib_resume(f);
	} else if (how == 2) {
		fib_executor_async(&ex, 1);
		fib_task_start(NULL, ex, overflows_task, NULL);
		fib_executor_destroy(ex);
	} else {
		s = started(2, how == 3);
		fib_sched_submit(s, overflows, NULL, FIB_ANY_THREAD);
		finish(s);
	}
	_exit(0);
}

START_TEST(overflow_told)
{
	int err[2], status;
	ssize_t n;
	pid_t pid;

	if (left_out("overflow_told", "it has the signal"))
		return;
	OK(pipe(err));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(err[1], 2);
		run_into_it(_i);
	}
	close(err[1]);
	n = read(err[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (_i == 3)
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 33);
	else
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	if (_i == 4)
		ck_assert_str_eq(text, "");
	else
		ck_assert_msg(
			strstr(text, "libfib: stack overflow in fiber ") &&
				strstr(text, " \"too deep\", which has 128 "
					     "KiB\n"),
			"%s", text);
}
END_TEST

TCase *library_group(void)
{
	TCase *t = tcase_create("group");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, members, 0, KINDS);
	tcase_add_loop_test(t, any_and_cancel, 0, KINDS);
	tcase_add_test(t, refused);
	tcase_add_test(t, values);
	tcase_add_test(t, destroyed_again);
	tcase_add_loop_test(t, dumped, 0, 2);
	tcase_add_test(t, dumped_in_motion);
	tcase_add_loop_test(t, overflow_told, 0, 5);
	return t;
}
