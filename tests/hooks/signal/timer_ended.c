/*
 * A timer signals a thread that has ended: nobody gets it, neither by a handler nor by
 * the default action, whether it expires before or after the thread's end.
 *
 * t-case: handler
 * t-case: default
 */
#include "t.h"

static sigset_t set;
static volatile int hits;
static timer_t timer[2];

static void on_signal(int sig)
{
	(void)sig;
	hits++;
}

static void await(timer_t t)
{
	struct itimerspec left;

	do
		CHECK(timer_gettime(t, &left) == 0);
	while (left.it_value.tv_sec || left.it_value.tv_nsec);
}

static void *ends(void *arg)
{
	const long in[] = { 1, 50 * T_MS };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGUSR1 };

	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	ev._sigev_un._tid = gettid();
	for (int i = 0; i < 2; i++) {
		struct itimerspec it = { .it_value = { 0, in[i] } };

		CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer[i]) == 0);
		CHECK(timer_settime(timer[i], 0, &it, NULL) == 0);
	}
	await(timer[0]);
	return arg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "handler";

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	t_bystander();
	if (strcmp(what, "default") != 0)
		t_handle(SIGUSR1, on_signal, 0);
	t_join(t_thread(ends, NULL));
	await(timer[1]);
	t_settle();
	for (int i = 0; i < 2; i++)
		CHECK(timer_delete(timer[i]) == 0);
	CHECK(hits == 0);
	t_say("nobody");
	return 0;
}
