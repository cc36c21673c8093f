/* Signals that land in any thread, and a process that ends in the midst. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/libfib/library.h"

#define PAIRS 8
#define TURNS 100

static struct fib_sched *sched;
static struct fib_mutex mutex = FIB_MUTEX_INIT;
static struct fib_cond cond = FIB_COND_INIT;
static struct fib_sem sem = FIB_SEM_INIT(0);
static struct fib_channel *ch;
static int sv[PAIRS][2], turn;
static atomic_int done, handled;
static atomic_bool over;

/* --- signals ------------------------------------------------------------------ */

static void handler(int sig)
{
	handled++;
}

static void *bombard(void *arg)
{
	while (!over) {
		kill(getpid(), SIGUSR1);
		kill(getpid(), SIGUSR2);
		fib_sleep(20000);
	}
	return NULL;
}

static void echo(void *arg)
{
	int fd = *(int *)arg;
	long n;
	char c;

	while ((n = fib_read(fd, &c, 1, FIB_NEVER)) == 1)
		OK(fib_write_all(fd, &c, 1, FIB_NEVER));
	ck_assert_int_eq(n, 0);
	done++;
}

static void talk(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < TURNS; i++) {
		char out = (char)i, in = 0;

		OK(fib_write_all(fd, &out, 1, FIB_NEVER));
		ck_assert_int_eq(fib_read(fd, &in, 1, 20 * SEC), 1);
		ck_assert_int_eq(in, out);
		if (i % 20)
			continue;
		ck_assert_int_eq(fib_read(fd, &in, 1, MSEC), -ETIMEDOUT);
		OK(fib_sleep(MSEC));
	}
	OK(shutdown(fd, SHUT_WR));
	done++;
}

static void take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	OK(fib_mutex_lock(&mutex));
	for (int i = 0; i < TURNS; i++) {
		while (turn != me)
			OK(fib_cond_wait(&cond, &mutex, 20 * SEC));
		turn = !me;
		OK(fib_cond_broadcast(&cond));
	}
	OK(fib_mutex_unlock(&mutex));
	done++;
}

static void *turns_in_thread(void *arg)
{
	take_turns(arg);
	return NULL;
}

/* No call of the library is made short, in a fiber or in a thread. */
START_TEST(signals)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t bomber, t;

	OK(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_flags = SA_RESTART;
	OK(sigaction(SIGUSR2, &sa, NULL));
	sched = started(3, true);
	for (int i = 0; i < PAIRS; i++) {
		OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv[i]));
		OK(fib_sched_submit(sched, echo, &sv[i][0], FIB_ANY_THREAD));
		OK(fib_sched_submit(sched, talk, &sv[i][1], FIB_ANY_THREAD));
	}
	OK(fib_sched_submit(sched, take_turns, NULL, FIB_ANY_THREAD));
	OK(pthread_create(&t, NULL, turns_in_thread, (void *)1));
	OK(pthread_create(&bomber, NULL, bombard, NULL));
	ck_assert_int_eq(fib_sem_wait(&sem, 20 * MSEC), -ETIMEDOUT);
	finish(sched);
	OK(pthread_join(t, NULL));
	over = true;
	OK(pthread_join(bomber, NULL));
	ck_assert_int_eq(done, 2 * PAIRS + 2);
	ck_assert_int_gt(handled, 10);
}
END_TEST

/* --- the end of the process ------------------------------------------------------ */

static void reads(void *arg)
{
	char c;

	fib_read(sv[0][0], &c, 1, FIB_NEVER);
}

static void receives(void *arg)
{
	int v;

	fib_channel_recv(ch, &v, FIB_NEVER);
}

static void waits(void *arg)
{
	fib_sem_wait(&sem, FIB_NEVER);
}

static void sleeps_long(void *arg)
{
	fib_sleep(3600 * SEC);
}

static void holds(void *arg)
{
	fib_yield();
}

static void spins(void *arg)
{
	for (;;)
		fib_yield_ready();
}

static long task(void *arg)
{
	fib_sleep(3600 * SEC);
	return 0;
}

static void tick(void *arg)
{
}

static void exits(void *arg)
{
	fib_sleep(MSEC);
	exit(7);
}

static void everything(int how)
{
	void (*const fn[])(void *) = { reads, receives,	   waits,
				       holds, sleeps_long, spins };
	struct fib_executor *pool, *looper;

	alarm(20);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv[0]) ||
	    fib_channel_create(&ch, sizeof(int), 0) ||
	    fib_sched_create(&sched, 3, how == 2, "ends") ||
	    fib_sched_start(sched) || fib_executor_async(&pool, 2) ||
	    fib_executor_looper(&looper, NULL))
		_exit(1);
	for (int i = 0; i < 60; i++)
		if (fib_sched_submit(sched, fn[i % 6], NULL, FIB_ANY_THREAD))
			_exit(1);
	for (int i = 0; i < 10; i++)
		if (fib_task_start(NULL, i % 2 ? pool : looper, task, NULL))
			_exit(1);
	if (fib_timer_add(sched, MSEC, FIB_TIMER_RECURRING, tick, NULL, NULL) <
	    0)
		_exit(1);
	fib_sleep(2 * MSEC);
	if (how == 0)
		exit(7);
	if (fib_sched_submit(sched, exits, NULL, FIB_ANY_THREAD))
		_exit(1);
	fib_sched_stop(sched);
	_exit(1);
}

/* By main(), by a fiber, by a fiber in the caller's thread. */
START_TEST(exit_with_all_parked)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			everything(_i);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), 7);
	}
}
END_TEST

TCase *library_process(void)
{
	TCase *t = tcase_create("process");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, signals);
	if (!left_out("exit_with_all_parked", "it waits for its own threads"))
		tcase_add_loop_test(t, exit_with_all_parked, 0, 3);
	return t;
}
