/*
 * The signals of the CPU time's interval timers come to the threads that use
 * the time, as a profiler needs it: not to main, which sleeps.
 *
 * t-case: prof
 * t-case: virtual
 */
#include "t.h"

#define SPINNERS 2
#define ENOUGH	 60

static __thread _Atomic int *mine;
static _Atomic int hits[SPINNERS + 1];
static _Atomic int stop;

static void on_signal(int sig)
{
	(void)sig;
	/* A thread that has not come to spin() yet counts nothing. */
	if (mine)
		++*mine;
}

static void *spin(void *arg)
{
	mine = arg;
	while (!stop)
		if (hits[0] + hits[1] + hits[2] > ENOUGH &&
		    (hits[1] > ENOUGH / 6 && hits[2] > ENOUGH / 6))
			stop = 1;
	return NULL;
}

int main(int argc, char **argv)
{
	int prof = argc > 1 && !strcmp(argv[1], "prof");
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	int which = prof ? ITIMER_PROF : ITIMER_VIRTUAL;
	pthread_t th[SPINNERS];

	mine = &hits[0];
	t_handle(prof ? SIGPROF : SIGVTALRM, on_signal, SA_RESTART);
	CHECK(!setitimer(which, &every, NULL));
	for (int i = 0; i < SPINNERS; i++)
		th[i] = t_thread(spin, (void *)&hits[i + 1]);
	for (int i = 0; i < SPINNERS; i++)
		t_join(th[i]);
	CHECK(!setitimer(which, &never, NULL));
	/* A few at the start and at the end may be main's own. */
	CHECK(hits[0] < ENOUGH / 4);
	return 0;
}
