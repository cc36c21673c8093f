/* fork(): the child has the calling thread alone, and begins anew. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static struct fib_sched *sched;
static struct fib_executor *looper;
static atomic_int ran;
static atomic_bool quit;
static int sv[2];

static void count(void *arg)
{
	ran++;
}

static long nap(void *arg)
{
	fib_sleep(MSEC);
	return 5;
}

static void await_on(struct fib_executor *ex)
{
	struct fib_task *t;

	OK(fib_task_start(&t, ex, nap, NULL));
	ck_assert_int_eq(fib_task_await(t), 5);
	fib_task_put(t);
}

/* Each of the library's shared tables is in use while the parent forks. */
static void busy(void *arg)
{
	while (!quit) {
		struct fib *f;
		int p[2];
		char c;

		OK(fib_create(&f, count, NULL, 64 * 1024));
		OK(fib_resume(f));
		OK(fib_destroy(f));
		OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
		OK(pipe(p));
		ck_assert_int_eq(fib_read(p[0], &c, 1, 100000), -ETIMEDOUT);
		OK(fib_close(p[0]));
		OK(fib_close(p[1]));
		OK(fib_yield_ready());
	}
}

static void echo(void *arg)
{
	char c;

	while (fib_read(sv[0], &c, 1, FIB_NEVER) == 1)
		OK(fib_write_all(sv[0], &c, 1, FIB_NEVER));
}

static void begin(void)
{
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	sched = started(2, false);
	OK(fib_executor_looper(&looper, NULL));
	await_on(looper);
	OK(fib_sched_submit(sched, echo, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < 4; i++)
		OK(fib_sched_submit(sched, busy, NULL, FIB_ANY_THREAD));
}

static void finish_all(void)
{
	quit = true;
	OK(shutdown(sv[1], SHUT_WR));
	OK(fib_executor_destroy(looper));
	finish(sched);
}

/* Check has locks too, which another thread may have had at the fork. */
static void child_fails(int line)
{
	char text[] = "fork.c:000: failed in the child\n";

	for (int i = 9; line; line /= 10)
		text[i--] = (char)('0' + line % 10);
	_exit(write(2, text, sizeof(text) - 1) < 0 ? 1 : 2);
}

#define IN_CHILD(cond) ((cond) ? (void)0 : child_fails(__LINE__))

static void new_scheduler(void)
{
	struct fib_sched *s;

	ran = 0;
	IN_CHILD(fib_sched_create(&s, 2, true, "child") == 0);
	IN_CHILD(fib_sched_start(s) == 0);
	for (int i = 0; i < 20; i++)
		IN_CHILD(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD) == 0);
	IN_CHILD(fib_timer_add(s, MSEC, 0, count, NULL, NULL) > 0);
	IN_CHILD(fib_sched_stop(s) == 0);
	IN_CHILD(fib_sched_destroy(s) == 0);
	IN_CHILD(ran == 21);
}

/* The parent's is gone, one of its own is not. Ends the process. */
static void in_child(void)
{
	struct fib_executor *ex;
	struct fib_task *t;
	struct fib *f;

	alarm(20);
	IN_CHILD(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD) ==
		 -EINVAL);
	IN_CHILD(fib_sched_stop(sched) == -EINVAL);
	IN_CHILD(fib_sched_start(sched) == -EINVAL);
	IN_CHILD(fib_sched_destroy(sched) == -EINVAL);
	IN_CHILD(fib_timer_add(sched, 0, 0, count, NULL, NULL) == -EINVAL);
	IN_CHILD(fib_iom_add_event(sched, sv[0], FIB_EV_READ, count, NULL) ==
		 -EINVAL);
	IN_CHILD(!fib_sched_current());
	/* the parent goes on waiting for it */
	IN_CHILD(fib_close(sv[0]) == 0);
	new_scheduler();
	IN_CHILD(fib_create(&f, count, NULL, 0) == 0);
	IN_CHILD(fib_resume(f) == 0);
	IN_CHILD(fib_destroy(f) == 0);
	IN_CHILD(fib_executor_looper(&ex, NULL) == 0);
	IN_CHILD(fib_task_start(&t, ex, nap, NULL) == 0);
	IN_CHILD(fib_task_await(t) == 5);
	fib_task_put(t);
	IN_CHILD(fib_executor_destroy(ex) == 0);
	_exit(7);
}

static void wait_for(pid_t pid)
{
	int status;

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}

START_TEST(from_a_thread)
{
	begin();
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();
		char c = (char)i;

		if (pid == 0)
			in_child();
		wait_for(pid);
		OK(fib_write_all(sv[1], &c, 1, FIB_NEVER));
		ck_assert_int_eq(fib_read(sv[1], &c, 1, 10 * SEC), 1);
	}
	finish_all();
}
END_TEST

static void forks(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			/* not a scheduler's any more */
			IN_CHILD(fib_yield() == -EPERM);
			IN_CHILD(fib_state(fib_current()) == FIB_RUNNING);
			in_child();
		}
		wait_for(pid);
		ck_assert_ptr_eq(fib_sched_current(), sched);
		OK(fib_yield_ready());
	}
}

static void by_hand(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		IN_CHILD(fib_yield() == 0);
	else
		wait_for(pid);
}

/* In the child, the one below is the thread's own. */
static void forks_on_top(void *arg)
{
	struct fib *f, *me = fib_current();

	OK(fib_create(&f, by_hand, NULL, 0));
	IN_CHILD(fib_resume(f) == 0);
	IN_CHILD(fib_current() == me);
	if (fib_state(f) == FIB_PARKED) {
		IN_CHILD(fib_yield() == -EPERM);
		in_child();
	}
	OK(fib_destroy(f));
}

static void at_exit(void)
{
	_exit(7);
}

/* It returns: that is the end of the process. */
static void returns(void *arg)
{
	pid_t pid = fork();

	if (pid)
		wait_for(pid);
	else
		atexit(at_exit);
}

START_TEST(from_a_fiber)
{
	begin();
	OK(fib_sched_submit(sched, forks, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(sched, forks_on_top, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(sched, returns, NULL, FIB_ANY_THREAD));
	finish_all();
}
END_TEST

static long forks_in_task(void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		in_child();
	wait_for(pid);
	fib_sleep(MSEC);
	return 1;
}

START_TEST(from_a_task)
{
	struct fib_task *t;

	begin();
	OK(fib_task_start(&t, looper, forks_in_task, NULL));
	ck_assert_int_eq(fib_task_await(t), 1);
	fib_task_put(t);
	finish_all();
}
END_TEST

TCase *library_fork(void)
{
	TCase *t = tcase_create("fork");

	tcase_set_timeout(t, 60);
	if (left_out("fork", "it lets no threads start in a child"))
		return t;
	tcase_add_test(t, from_a_thread);
	tcase_add_test(t, from_a_fiber);
	tcase_add_test(t, from_a_task);
	return t;
}
