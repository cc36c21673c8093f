/* Cancelling: which waits it ends, what is left of them, and shields. */
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/libfib/kinds.h"

static struct fib_sched *sched;
static struct fib_channel *ch;
static struct fib_sem sem = FIB_SEM_INIT(0);
static struct fib_mutex mutex = FIB_MUTEX_INIT;
static struct fib_cond cond = FIB_COND_INIT;
static struct fib_task *task;
static int pair[2], listener;
static pid_t child;
static _Atomic int done;

/* --- each call that waits -------------------------------------------------- */

static long do_sleep(uint64_t ns)
{
	return fib_sleep(ns);
}

static long do_recv(uint64_t ns)
{
	int v;

	return fib_channel_recv(ch, &v, ns);
}

static long do_send(uint64_t ns)
{
	int v = 1;

	return fib_channel_send(ch, &v, ns);
}

static long do_sem(uint64_t ns)
{
	return fib_sem_wait(&sem, ns);
}

static long do_cond(uint64_t ns)
{
	int r;

	OK(fib_mutex_lock(&mutex));
	r = fib_cond_wait(&cond, &mutex, ns);
	/* it has the mutex in any case */
	OK(fib_mutex_unlock(&mutex));
	return r;
}

static long do_read(uint64_t ns)
{
	char c;

	return fib_read(pair[0], &c, 1, ns);
}

static long do_recvmsg(uint64_t ns)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return fib_recvmsg(pair[0], &msg, 0, ns);
}

static long do_wait_fd(uint64_t ns)
{
	return fib_wait_fd(pair[0], FIB_EV_READ, ns);
}

static long do_accept(uint64_t ns)
{
	return fib_accept(listener, NULL, NULL, ns);
}

static long do_waitpid(uint64_t ns)
{
	return fib_waitpid(child, NULL, ns);
}

static long do_signal(uint64_t ns)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return fib_signal_wait(&set, NULL, ns);
}

static long do_await(uint64_t ns)
{
	long result;

	return fib_task_await_for(task, ns, &result);
}

static long do_yield(uint64_t ns)
{
	return fib_yield();
}

static long (*const calls[])(uint64_t) = {
	do_sleep,  do_recv,    do_send,	  do_sem,     do_cond,
	do_read,   do_recvmsg, do_accept, do_wait_fd, do_waitpid,
	do_signal, do_await,   do_yield,
};
#define CALLS (int)(sizeof(calls) / sizeof(calls[0]))

static struct fib_sem go = FIB_SEM_INIT(0);

static long waits_for_go(void *arg)
{
	return fib_sem_wait(&go, FIB_NEVER);
}

struct one {
	long (*call)(uint64_t);
	uint64_t ns;
	_Atomic long result;
	_Atomic long again; /* the same, the next time: it is for good */
};

static void waits(void *arg)
{
	struct one *o = arg;

	o->result = o->call(o->ns);
	o->again = o->call(o->ns);
	ck_assert(fib_canceled());
}

static void make_things(struct fib_executor **ex)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	OK(fib_channel_create(&ch, sizeof(int), 0));
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	listener = socket(AF_INET, SOCK_STREAM, 0);
	OK(bind(listener, (void *)&any, sizeof(any)));
	OK(listen(listener, 1));
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	OK(fib_executor_async(ex, 1));
	OK(fib_task_start(&task, *ex, waits_for_go, NULL));
}

static void end_things(struct fib_executor *ex)
{
	OK(fib_sem_post(&go));
	ck_assert_int_eq(fib_task_await(task), 0);
	fib_task_put(task);
	OK(fib_executor_destroy(ex));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* nobody is left in it */
	OK(fib_channel_destroy(ch));
	ck_assert_uint_eq(sem.waiters, 0);
}

/*
 * _i: one thread or two; with a limit or without. All wait at once, so that each
 * is told from the others that wait in the same place.
 */
START_TEST(every_wait)
{
	struct fib_executor *ex;
	struct one one[CALLS];
	struct fib *f[CALLS];

	make_things(&ex);
	sched = started(_i % 2 + 1, false);
	for (int i = 0; i < CALLS; i++) {
		one[i] = (struct one){ calls[i], _i / 2 ? 60 * SEC : FIB_NEVER,
				       1, 1 };
		/* a send and a receive of one channel would meet */
		if (calls[i] == do_send && _i % 2)
			one[i].call = do_recv;
		else if (calls[i] == do_recv && !(_i % 2))
			one[i].call = do_send;
		OK(fib_create(&f[i], waits, &one[i], 0));
		OK(fib_sched_submit_fiber(sched, f[i], FIB_ANY_THREAD));
	}
	for (int i = 0; i < CALLS; i++)
		while (fib_state(f[i]) != FIB_PARKED)
			sched_yield();
	for (int i = 0; i < CALLS; i++) {
		ck_assert_int_eq(one[i].result, 1);
		OK(fib_cancel(f[i]));
	}
	finish(sched);
	for (int i = 0; i < CALLS; i++) {
		ck_assert_msg(one[i].result == -ECANCELED, "call %d: %ld", i,
			      (long)one[i].result);
		ck_assert_int_eq(one[i].again, -ECANCELED);
		ck_assert_int_eq(fib_cancel(f[i]), -EINVAL);
		OK(fib_destroy(f[i]));
	}
	end_things(ex);
}
END_TEST

/* Cancelled before it calls: it looks at once, though nothing would be waited for. */
static void would_not_wait(void *arg)
{
	struct iovec iov = { (void *)"x", 1 };
	long r;
	int v;

	OK(fib_cancel(fib_current()));
	ck_assert(fib_canceled());
	for (int i = 0; i < CALLS; i++) {
		r = calls[i](0);
		ck_assert_msg(r == -ECANCELED, "call %d: %ld", i, r);
	}
	ck_assert_int_eq(fib_channel_recv(ch, &v, FIB_NEVER), -ECANCELED);
	ck_assert_int_eq(fib_write(pair[1], "x", 1, FIB_NEVER), -ECANCELED);
	ck_assert_int_eq(fib_writev(pair[1], &iov, 1, FIB_NEVER), -ECANCELED);
	ck_assert_int_eq(fib_connect(pair[1], NULL, 0, FIB_NEVER), -ECANCELED);
	/* these are none */
	OK(fib_yield_ready());
	OK(fib_mutex_lock(&mutex));
	OK(fib_mutex_unlock(&mutex));
	/* and nothing was done */
	OK(fib_shield_enter());
	ck_assert(!fib_canceled());
	OK(fib_shield_enter());
	ck_assert_int_eq(fib_read(pair[0], &v, 1, 0), -ETIMEDOUT);
	ck_assert_uint_eq(fib_channel_count(ch), 1);
	OK(fib_channel_recv(ch, &v, FIB_NEVER));
	ck_assert_int_eq(fib_channel_recv(ch, &v, MSEC), -ETIMEDOUT);
	OK(fib_sleep(MSEC));
	OK(fib_shield_leave());
	OK(fib_sleep(MSEC));
	OK(fib_shield_leave());
	ck_assert_int_eq(fib_shield_leave(), -EINVAL);
	ck_assert_int_eq(fib_sleep(0), -ECANCELED);
	done = 1;
}

START_TEST(at_once)
{
	struct fib_executor *ex;
	struct fib *f;
	int v = 7;

	make_things(&ex);
	OK(fib_channel_destroy(ch));
	OK(fib_channel_create(&ch, sizeof(int), 1));
	OK(fib_channel_send(ch, &v, 0));
	sched = started(1, false);
	OK(fib_create(&f, would_not_wait, NULL, 0));
	ck_assert_int_eq(fib_cancel(f), -EINVAL);
	ck_assert_int_eq(fib_cancel(NULL), -EINVAL);
	OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 1);
	/* a thread of its own is never cancelled */
	ck_assert(!fib_canceled());
	OK(fib_shield_enter());
	OK(fib_shield_leave());
	OK(fib_destroy(f));
	end_things(ex);
}
END_TEST

/* --- what it does not end --------------------------------------------------- */

static void wants_mutex(void *arg)
{
	OK(fib_mutex_lock(&mutex));
	ck_assert_int_eq(fib_sleep(0), -ECANCELED);
	OK(fib_mutex_unlock(&mutex));
	OK(fib_shield_enter());
	OK(fib_sem_wait(&sem, FIB_NEVER));
	OK(fib_shield_leave());
	done = 1;
}

static void on_top(void *arg)
{
	ck_assert_int_eq(fib_sleep(60 * SEC), -ECANCELED);
}

static void resumes(void *arg)
{
	struct fib *f;

	OK(fib_create(&f, on_top, NULL, 0));
	OK(fib_resume(f));
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	OK(fib_destroy(f));
	ck_assert_int_eq(fib_sleep(0), -ECANCELED);
}

static void is_new(void *arg)
{
	OK(fib_sleep(MSEC));
	done = 2;
}

/* A mutex is waited for all the same; what it carries by hand is cancelled too. */
START_TEST(holds_on)
{
	struct fib *f, *g;

	sched = started(2, false);
	OK(fib_mutex_lock(&mutex));
	OK(fib_create(&f, wants_mutex, NULL, 0));
	OK(fib_create(&g, resumes, NULL, 0));
	OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
	OK(fib_sched_submit_fiber(sched, g, FIB_ANY_THREAD));
	while (fib_state(f) != FIB_PARKED || fib_state(g) != FIB_PARKED)
		sched_yield();
	OK(fib_cancel(f));
	OK(fib_cancel(g));
	while (fib_state(g) != FIB_TERM)
		sched_yield();
	OK(fib_mutex_unlock(&mutex));
	OK(fib_sem_post(&sem));
	while (fib_state(f) != FIB_TERM)
		sched_yield();
	ck_assert_int_eq(done, 1);
	/* it begins anew, not cancelled */
	OK(fib_reset(f, is_new, NULL));
	OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 2);
	OK(fib_destroy(f));
	OK(fib_destroy(g));
}
END_TEST

/* --- tasks ------------------------------------------------------------------- */

static _Atomic int begun;

static long long_task(void *arg)
{
	begun = 1;
	if (fib_sleep(600 * SEC) != -ECANCELED)
		return 1;
	/* it may take its time to end */
	fib_shield_enter();
	fib_sleep(MSEC);
	fib_shield_leave();
	return fib_canceled() ? -ECANCELED : 2;
}

static void called_back(long result, void *arg)
{
	ck_assert_int_eq(result, -ECANCELED);
	OK(fib_sleep(MSEC));
	done++;
}

START_TEST(tasks)
{
	struct fib_executor *ex;
	long result;

	sched = started(2, false);
	ex = make((enum kind)_i, sched);
	for (int i = 0; i < 3; i++) {
		begun = done = 0;
		OK(fib_task_start(&task, ex, long_task, NULL));
		OK(fib_task_catch(task, called_back, NULL));
		while (i && !begun)
			sched_yield();
		ck_assert_int_eq(fib_task_await_for(task, 0, &result),
				 -ETIMEDOUT);
		OK(fib_task_cancel(task));
		ck_assert_int_eq(fib_task_await(task), -ECANCELED);
		ck_assert_int_eq(done, 1);
		/* it is late */
		OK(fib_task_cancel(task));
		OK(fib_task_catch(task, called_back, NULL));
		while (done < 2)
			sched_yield();
		fib_task_put(task);
	}
	ck_assert_int_eq(fib_task_cancel(NULL), -EINVAL);
	OK(fib_executor_destroy(ex));
	finish(sched);
}
END_TEST

/* --- nothing is lost ---------------------------------------------------------- */

#define FIBERS 8
#define VALUES 2000

static _Atomic uint64_t sent, received, taken;

static void sends(void *arg)
{
	uint64_t v = 3;

	while (fib_channel_send(ch, &v, FIB_NEVER) == 0)
		sent += v;
}

static void receives(void *arg)
{
	uint64_t v;

	while (fib_channel_recv(ch, &v, FIB_NEVER) == 0) {
		received += v;
		taken++;
	}
}

/* Senders and receivers come and go; all that was sent has come out, or is there. */
START_TEST(no_value_lost)
{
	struct fib *f[FIBERS];
	uint64_t v, left = 0;
	unsigned seed = (unsigned)_i + 1;

	OK(fib_channel_create(&ch, sizeof(uint64_t), (size_t)_i % 3));
	sched = started(1u << _i / 3, false);
	for (int i = 0; i < FIBERS; i++) {
		OK(fib_create(&f[i], i % 2 ? sends : receives, NULL, 0));
		OK(fib_sched_submit_fiber(sched, f[i], FIB_ANY_THREAD));
	}
	for (int n = 0; taken < VALUES || n < VALUES / 10; n++) {
		int i = rand_r(&seed) % FIBERS;

		fib_cancel(f[i]);
		while (fib_state(f[i]) != FIB_TERM)
			sched_yield();
		OK(fib_reset(f[i], i % 2 ? sends : receives, NULL));
		OK(fib_sched_submit_fiber(sched, f[i], FIB_ANY_THREAD));
	}
	for (int i = 0; i < FIBERS; i++)
		fib_cancel(f[i]);
	finish(sched);
	while (fib_channel_recv(ch, &v, 0) == 0)
		left += v;
	ck_assert_uint_eq(sent, received + left);
	for (int i = 0; i < FIBERS; i++)
		OK(fib_destroy(f[i]));
	OK(fib_channel_destroy(ch));
}
END_TEST

TCase *library_cancel(void)
{
	TCase *t = tcase_create("cancel");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_wait, 0, 4);
	tcase_add_test(t, at_once);
	tcase_add_test(t, holds_on);
	tcase_add_loop_test(t, tasks, 0, KINDS);
	tcase_add_loop_test(t, no_value_lost, 0, 6);
	return t;
}
