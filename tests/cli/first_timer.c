/*
 * A timer for the first thread alone, made before there is another one: its signals
 * come to that thread, 20 of them.
 */
#include "t.h"
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static volatile sig_atomic_t got, elsewhere;
static pid_t first;

static void on(int sig)
{
	got += sig == SIGRTMIN;
	elsewhere += gettid() != first;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGRTMIN,
			       .sigev_notify_thread_id = gettid() };
	struct itimerspec each_ms = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t t;

	first = gettid();
	t_handle(SIGRTMIN, on, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	CHECK(timer_settime(t, 0, &each_ms, NULL) == 0);
	t_join(t_thread(nothing, NULL));
	while (got < 20)
		;
	CHECK(!elsewhere);
	t_say("20 signals");
	return 0;
}
