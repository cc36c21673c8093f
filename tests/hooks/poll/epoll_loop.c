/*
 * Threads that live in epoll_wait(): what may come of a wait is the same after a
 * thousand of them.
 *
 * t-case: main
 * t-case: thread
 */
#include "t.h"
#include <sys/epoll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>

enum { LONG = 300, MANY = 80 };

static int ep, ask, answer;
static volatile sig_atomic_t handled;
static sem_t there;

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void add(int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
}

static void take(int fd)
{
	uint64_t n;

	t_read(fd, &n, sizeof(n));
}

static void give(int fd)
{
	uint64_t one = 1;

	t_write(fd, &one, sizeof(one));
}

static void *asker(void *arg)
{
	for (int i = 0; i < LONG; i++) {
		give(ask);
		take(answer);
	}
	return arg;
}

/* Events come from elsewhere, one after the other. */
static void live(int timeout)
{
	pthread_t th = t_thread(asker, NULL);
	struct epoll_event ev;

	for (int i = 0; i < LONG; i++) {
		CHECK(epoll_wait(ep, &ev, 1, timeout) == 1);
		CHECK(ev.data.fd == ask);
		take(ask);
		give(answer);
	}
	t_join(th);
}

static atomic_bool ended;

/* Until the call has ended: it may not have begun yet. */
static void *signals(void *arg)
{
	do {
		t_settle();
		CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
	} while (!atomic_load(&ended));
	return NULL;
}

static void interrupted(void)
{
	pthread_t self = pthread_self(), th;
	struct epoll_event ev;
	sigset_t usr1, none;

	for (int restart = 0; restart < 2; restart++) {
		handled = 0;
		atomic_store(&ended, false);
		t_handle(SIGUSR1, on_usr1, restart ? SA_RESTART : 0);
		th = t_thread(signals, &self);
		CHECK_ERR(epoll_wait(ep, &ev, 1, -1), EINTR);
		atomic_store(&ended, true);
		CHECK(handled >= 1);
		t_join(th);
	}
	handled = 1;
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	th = t_thread(signals, &self);
	CHECK_ERR(epoll_pwait(ep, &ev, 1, -1, &none), EINTR);
	CHECK(handled == 2);
	t_join(th);
	CHECK_0(pthread_kill(self, SIGUSR1));
	CHECK(epoll_wait(ep, &ev, 1, 10) == 0);
	CHECK(handled == 2);
	give(ask);
	CHECK(epoll_pwait(ep, &ev, 1, -1, &none) == 1);
	CHECK(handled == 2);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
	CHECK(handled == 3);
	take(ask);
}

static void limits(void)
{
	struct timespec ts = { 0, 20 * T_MS };
	struct epoll_event ev;
	long long t0 = t_now();

	CHECK(epoll_wait(ep, &ev, 1, 20) == 0);
	CHECK(t_now() - t0 >= 20 * T_MS);
	t0 = t_now();
	CHECK(epoll_pwait2(ep, &ev, 1, &ts, NULL) == 0);
	CHECK(t_now() - t0 >= 20 * T_MS);
	CHECK_ERR(epoll_wait(ep, &ev, 0, -1), EINVAL);
	CHECK_ERR(epoll_wait(-1, &ev, 1, -1), EBADF);
	CHECK_ERR(epoll_wait(ask, &ev, 1, -1), EINVAL);
}

/* One event, two who wait: one gets it, whichever, and the other the next. */
static void *waits_too(void *arg)
{
	struct epoll_event ev;

	CHECK(sem_post(&there) == 0);
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	take(ask);
	give(answer);
	return arg;
}

static void shared(void)
{
	struct epoll_event ev;
	pthread_t th = t_thread(waits_too, NULL);

	t_down(&there);
	t_settle();
	give(ask);
	take(answer);
	t_join(th);
	CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
}

static void forks(void)
{
	struct epoll_event ev;
	pid_t pid = fork();

	if (pid == 0) {
		give(ask);
		_exit(0);
	}
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	take(ask);
	t_wait_ok(pid);
}

static void *is_loop(void *arg)
{
	live(-1);
	t_say("lives");
	interrupted();
	t_say("is interrupted");
	limits();
	t_say("has limits");
	shared();
	t_say("shares");
	live(10000);
	forks();
	live(-1);
	t_say("forks");
	return arg;
}

static void *cancelled(void *arg)
{
	struct epoll_event ev;

	live(-1);
	CHECK(sem_post(&there) == 0);
	CHECK(epoll_wait(ep, &ev, 1, -1) == 1);
	return arg;
}

/* More than have a kernel thread each, perhaps: a ring. */
static int ring[MANY];

static void *in_ring(void *arg)
{
	int i = (int)(intptr_t)arg, own = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN };

	CHECK(!epoll_ctl(own, EPOLL_CTL_ADD, ring[i], &e));
	for (int n = 0; n < LONG / 3; n++) {
		CHECK(epoll_wait(own, &e, 1, -1) == 1);
		take(ring[i]);
		give(ring[(i + 1) % MANY]);
	}
	t_close(own);
	return NULL;
}

static void many(void)
{
	pthread_t th[MANY];

	for (int i = 0; i < MANY; i++) {
		ring[i] = eventfd(0, 0);
		CHECK(ring[i] >= 0);
	}
	for (intptr_t i = 0; i < MANY; i++)
		th[i] = t_small_thread(in_ring, (void *)i);
	give(ring[0]);
	for (int i = 0; i < MANY; i++)
		t_join(th[i]);
	t_say("many");
}

int main(int argc, char **argv)
{
	pthread_t th;

	ep = epoll_create1(0);
	ask = eventfd(0, EFD_NONBLOCK);
	answer = eventfd(0, 0);
	CHECK(argc == 2 && ep >= 0 && ask >= 0 && answer >= 0);
	CHECK(sem_init(&there, 0, 0) == 0);
	add(ask);
	t_be_threaded();
	if (!strcmp(argv[1], "main"))
		is_loop(NULL);
	else
		t_join(t_thread(is_loop, NULL));
	th = t_thread(cancelled, NULL);
	t_down(&there);
	t_settle();
	t_cancel(th);
	CHECK(t_join(th) == PTHREAD_CANCELED);
	t_say("is cancelled");
	many();
	return 0;
}
