/*
 * RLIMIT_SIGPENDING: timers count as well, each with the one signal that it may send, and
 * what has expired and pends counts once. As a user that nobody else is.
 */
#include "t.h"
#include <sys/resource.h>

enum { NOBODY_ELSE = 54321, LIMIT = 10, TIMERS = 4 };

static const int rt[] = { 3, 4 };
static sigset_t set;

static int make(timer_t *t, int sig)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = sig };

	ev._sigev_un._tid = gettid();
	return timer_create(CLOCK_MONOTONIC, &ev, t);
}

static int queue_all(int sig)
{
	union sigval v = { .sival_int = 1 };
	int n = 0, r;

	while (!(r = pthread_sigqueue(pthread_self(), sig, v)))
		n++;
	CHECK(r == EAGAIN);
	return n;
}

static int take_all(void)
{
	struct timespec now = { 0, 0 };
	int n = 0;

	while (sigtimedwait(&set, NULL, &now) > 0)
		n++;
	return n;
}

static void *run(void *arg)
{
	struct itimerspec it = { .it_value = { 0, 1 } };
	timer_t t[TIMERS], more;

	for (int i = 0; i < TIMERS; i++)
		CHECK(make(&t[i], SIGRTMIN + rt[0]) == 0);
	t_say("beside timers: %d", queue_all(SIGRTMIN + rt[1]));
	CHECK_ERR(make(&more, SIGRTMIN + rt[0]), EAGAIN);
	CHECK(timer_settime(t[0], 0, &it, NULL) == 0);
	do
		CHECK(timer_gettime(t[0], &it) == 0);
	while (it.it_value.tv_sec || it.it_value.tv_nsec);
	CHECK_RC(pthread_sigqueue(pthread_self(), SIGRTMIN + rt[1],
				  (union sigval){ 0 }),
		 EAGAIN);
	t_say("with what expired: %d", take_all());
	CHECK(make(&more, SIGRTMIN + rt[0]) == 0);
	t_say("beside one more: %d", queue_all(SIGRTMIN + rt[1]));
	CHECK(timer_delete(more) == 0);
	for (int i = 0; i < TIMERS; i++)
		CHECK(timer_delete(t[i]) == 0);
	t_say("without: %d", queue_all(SIGRTMIN + rt[1]));
	t_say("all: %d", take_all());
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	const struct rlimit lim = { LIMIT, LIMIT };

	if (geteuid() != 0)
		t_skip("only root can be a user of its own");
	t_join(t_thread(nothing, NULL));
	CHECK(setuid(NOBODY_ELSE) == 0);
	CHECK(setrlimit(RLIMIT_SIGPENDING, &lim) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + rt[0]);
	sigaddset(&set, SIGRTMIN + rt[1]);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	run(NULL);
	t_join(t_thread(run, NULL));
	return 0;
}
