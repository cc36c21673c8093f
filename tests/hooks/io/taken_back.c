/*
 * Another process takes O_NONBLOCK back, and this one has read with it many times: the
 * next call waits, until there is something, a handler runs, the thread is cancelled; and
 * when it is set again the next one does not.
 *
 * t-case: pipe
 * t-case: pair
 * t-case: tcp
 * t-case: dgram
 * t-case: event
 * t-case: timer
 * t-case: pty
 * t-case: accept
 */
#include <pty.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include "t.h"

static const char *kind;
static int fd, other = -1, port, ask[2], told[2];
static _Atomic int handled, ended;

static bool is(const char *k)
{
	return !strcmp(kind, k);
}

static void make(void)
{
	int p[2];

	if (is("pipe"))
		t_pipe(p);
	else if (is("tcp"))
		t_tcp_pair(p);
	else if (is("dgram"))
		CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, p));
	else if (is("pty"))
		CHECK(!openpty(&p[0], &p[1], NULL, NULL, NULL));
	else if (is("event"))
		p[0] = p[1] = eventfd(0, 0);
	else if (is("timer"))
		p[0] = p[1] = timerfd_create(CLOCK_MONOTONIC, 0);
	else if (is("accept"))
		p[0] = p[1] = t_listen(&port);
	else
		t_pair(p);
	fd = p[0];
	other = p[1];
	CHECK(fd >= 0 && other >= 0);
}

/* There is something. */
static void ready(void)
{
	struct itimerspec soon = { { 0, 0 }, { 0, 1 } };
	uint64_t one = 1;

	if (is("accept"))
		t_close(t_connect(port));
	else if (is("timer"))
		CHECK(!timerfd_settime(other, 0, &soon, NULL));
	else if (is("event"))
		CHECK(write(other, &one, sizeof(one)) == sizeof(one));
	else
		t_put(other, 'x');
}

static int call(int from)
{
	char buf[16];
	int r;

	if (!is("accept"))
		return (int)read(from, buf, sizeof(buf));
	r = accept(from, NULL, NULL);
	if (r >= 0)
		t_close(r);
	return r >= 0 ? 1 : r;
}

/* --- the other process ------------------------------------------------------- */

static void serve(void)
{
	char c;

	while (read(ask[0], &c, 1) == 1) {
		CHECK(!fcntl(fd, F_SETFL, c == 'n' ? O_NONBLOCK : 0));
		t_put(told[1], c);
	}
	_exit(0);
}

static void tell(char c)
{
	t_put(ask[1], c);
	CHECK(t_get(told[0]) == c);
}

/* --- this one ---------------------------------------------------------------- */

static void does_not_wait(void)
{
	for (int i = 0; i < 20; i++)
		CHECK_ERR(call(fd), EAGAIN);
}

static void *ready_soon(void *arg)
{
	t_settle();
	ready();
	return arg;
}

static void waits(void)
{
	pthread_t th = t_thread(ready_soon, NULL);

	CHECK(call(fd) > 0);
	t_join(th);
}

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

/* Until the call has ended: one may come before it waits. */
static void *signals(void *arg)
{
	while (!ended) {
		CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
		t_settle();
	}
	return NULL;
}

static void *signal_then_ready(void *arg)
{
	t_settle();
	CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
	while (!handled)
		t_settle();
	ready();
	return NULL;
}

static void with_handler(int flags)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = flags };
	pthread_t me = pthread_self(), th;

	CHECK(!sigaction(SIGUSR1, &sa, NULL));
	handled = ended = 0;
	th = t_thread(flags ? signal_then_ready : signals, &me);
	if (flags)
		CHECK(call(fd) > 0);
	else
		CHECK_ERR(call(fd), EINTR);
	ended = 1;
	t_join(th);
	CHECK(handled);
}

static void *waiter(void *arg)
{
	int r = call(*(int *)arg);

	return (void *)(intptr_t)(r < 0 ? -errno : r);
}

/* Its number is closed meanwhile, and the file is not: who came too late tries again. */
static void closed(void)
{
	intptr_t r = -EBADF;

	for (int i = 0; i < 30 && r == -EBADF; i++) {
		int number = dup(fd);
		pthread_t th;

		CHECK(number >= 0);
		CHECK_ERR(call(number), EAGAIN);
		tell('b');
		th = t_thread(waiter, &number);
		t_settle();
		t_settle();
		t_close(number);
		ready();
		r = (intptr_t)t_join(th);
		if (r == -EBADF)
			CHECK(call(fd) > 0);
		tell('n');
	}
	CHECK(r > 0);
}

static void cancelled(void)
{
	pthread_t th = t_thread(waiter, &fd);

	t_settle();
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
}

int main(int argc, char **argv)
{
	pid_t pid;

	CHECK(argc == 2);
	kind = argv[1];
	make();
	t_pipe(ask);
	t_pipe(told);
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		t_close(ask[1]);
		serve();
	}
	t_be_threaded();
	for (int i = 0; i < 10; i++) {
		does_not_wait();
		tell('b');
		waits();
		if (i % 2)
			waits();
		tell('n');
	}
	t_say("in turns");
	does_not_wait();
	tell('b');
	with_handler(0);
	tell('n');
	does_not_wait();
	tell('b');
	with_handler(SA_RESTART);
	tell('n');
	does_not_wait();
	t_say("signals");
	closed();
	does_not_wait();
	tell('b');
	cancelled();
	tell('n');
	does_not_wait();
	t_say("ends");
	t_close(ask[1]);
	t_wait_ok(pid);
	return 0;
}
