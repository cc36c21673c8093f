/*
 * Sleeps, waits with a time limit, poll and select: of a thread that has made a child, and
 * so has a kernel thread to itself, and of one that has not.
 *
 * t-case: plain
 * t-case: child
 */
#include <poll.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/select.h>
#include "t.h"

static int p[2];
static _Atomic int handled, ended;
static pthread_t waiter;
static bool child;

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void *byte_soon(void *arg)
{
	t_settle();
	t_put(p[1], 'x');
	return arg;
}

/* Until the call has ended: one may come before it waits. */
static void *signals(void *arg)
{
	while (!ended) {
		CHECK_0(pthread_kill(waiter, SIGUSR1));
		t_settle();
	}
	return arg;
}

static int by_poll(int ms)
{
	struct pollfd of[2] = { { -1, POLLIN, 0 }, { p[0], POLLIN, 0 } };
	int r = poll(of, 2, ms);

	CHECK(r < 0 || (r == 1) == (of[1].revents == POLLIN));
	return r;
}

static int by_ppoll(int ms)
{
	struct timespec ts = t_ts(ms * T_MS);
	struct pollfd of = { p[0], POLLIN, 0 };
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&of, 1, ms < 0 ? NULL : &ts, &none);
}

static int by_select(int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	fd_set set;
	int r;

	FD_ZERO(&set);
	FD_SET(p[0], &set);
	r = select(p[0] + 1, &set, NULL, NULL, ms < 0 ? NULL : &tv);
	CHECK(r < 0 || (r == 1) == !!FD_ISSET(p[0], &set));
	CHECK(ms < 0 || r || (!tv.tv_sec && !tv.tv_usec));
	return r;
}

static void waits(int (*by)(int))
{
	long long start = t_now();
	pthread_t th;

	CHECK(by(0) == 0);
	CHECK(by(30) == 0 && t_now() - start >= 30 * T_MS);
	th = t_thread(byte_soon, NULL);
	CHECK(by(-1) == 1 && by(-1) == 1 && by(1000) == 1);
	t_join(th);
	CHECK(t_get(p[0]) == 'x' && by(0) == 0);
	for (int ms = -1; ms < 100000; ms += 50000) {
		handled = ended = 0;
		th = t_thread(signals, NULL);
		CHECK_ERR(by(ms), EINTR);
		ended = 1;
		t_join(th);
		CHECK(handled);
	}
}

/* What a mask lets in comes after what is ready. */
static void masks(void)
{
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	handled = 0;
	CHECK_0(pthread_kill(waiter, SIGUSR1));
	t_put(p[1], 'x');
	CHECK(by_ppoll(1000) == 1);
	CHECK(t_get(p[0]) == 'x');
	handled = 0;
	CHECK_0(pthread_kill(waiter, SIGUSR1));
	CHECK_ERR(by_ppoll(1000), EINTR);
	CHECK(handled == 1);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
}

static void sleeps(void)
{
	struct timespec ts = t_ts(40 * T_MS), left = { 0, 0 };
	long long start = t_now();
	pthread_t th;
	sigset_t usr2;
	sem_t sem;

	CHECK(!nanosleep(&ts, NULL) && t_now() - start >= 40 * T_MS);
	for (int i = 0; i < 20; i++) {
		ts = t_ts(i * 100000);
		start = t_now();
		CHECK(!nanosleep(&ts, NULL) && t_now() - start >= i * 100000);
	}
	handled = ended = 0;
	th = t_thread(signals, NULL);
	CHECK_ERR(nanosleep(&(struct timespec){ 100, 0 }, &left), EINTR);
	ended = 1;
	t_join(th);
	CHECK(handled && left.tv_sec > 50 && left.tv_sec <= 100);
	CHECK(!sem_init(&sem, 0, 0));
	ts = t_in(CLOCK_REALTIME, 20 * T_MS);
	start = t_now();
	CHECK_ERR(sem_timedwait(&sem, &ts), ETIMEDOUT);
	CHECK(t_now() - start >= 19 * T_MS);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	ts = t_ts(20 * T_MS);
	start = t_now();
	CHECK_ERR(sigtimedwait(&usr2, NULL, &ts), EAGAIN);
	CHECK(t_now() - start >= 20 * T_MS);
	CHECK_0(pthread_kill(waiter, SIGUSR2));
	CHECK(sigtimedwait(&usr2, NULL, &ts) == SIGUSR2);
}

static void make_child(void)
{
	pid_t pid;

	if (!child)
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	t_wait_ok(pid);
}

static void *all(void *arg)
{
	waiter = pthread_self();
	make_child();
	waits(by_poll);
	waits(by_ppoll);
	waits(by_select);
	masks();
	sleeps();
	return arg;
}

static void *in_poll(void *arg)
{
	make_child();
	by_poll(-1);
	return arg;
}

static void *in_select(void *arg)
{
	make_child();
	by_select(100000);
	return arg;
}

static void *in_sleep(void *arg)
{
	make_child();
	sleep(100);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const in[])(void *) = { in_poll, in_select, in_sleep };
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	CHECK(argc == 2);
	child = !strcmp(argv[1], "child");
	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	t_pipe(p);
	t_join(t_thread(all, NULL));
	t_say("a thread");
	for (int i = 0; i < 3; i++) {
		pthread_t th = t_thread(in[i], NULL);

		t_settle();
		CHECK_0(pthread_cancel(th));
		CHECK(t_join(th) == PTHREAD_CANCELED);
	}
	t_say("cancelled");
	all(NULL);
	t_say("main");
	return 0;
}
