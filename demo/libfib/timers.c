/*
 * Timers: once, recurring, refreshed, cancelled, and conditional.
 */
#include <fib.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull

static struct fib_sched *sched;
static int64_t beat, patient;
static int beats;

static void once(void *arg)
{
	printf("%s\n", (const char *)arg);
}

static void on_beat(void *arg)
{
	printf("beat %d\n", ++beats);
	/* As long as it is put off, it does not fire. */
	if (beats < 3)
		fib_timer_refresh(sched, patient);
	if (beats == 3)
		fib_timer_cancel(sched, beat);
}

int main(void)
{
	struct fib_guard *guard;
	int64_t late;

	if (fib_sched_create(&sched, 1, true, "timers") ||
	    fib_guard_create(&guard))
		return 1;
	fib_timer_add(sched, 30 * MS, 0, once, "after 30 ms", NULL);
	fib_timer_add(sched, 10 * MS, 0, once, "after 10 ms", NULL);
	late = fib_timer_add(sched, 50 * MS, 0, once, "never", NULL);
	fib_timer_add(sched, 60 * MS, 0, once, "never, either", guard);
	beat = fib_timer_add(sched, 100 * MS, FIB_TIMER_RECURRING, on_beat,
			     NULL, NULL);
	patient = fib_timer_add(sched, 150 * MS, 0, once, "150 ms after beat 2",
				NULL);
	printf("cancel: %s\n", strerror(-fib_timer_cancel(sched, late)));
	printf("again: %s\n", strerror(-fib_timer_cancel(sched, late)));
	fib_guard_destroy(guard);
	fib_sched_start(sched);
	/* Returns when no timer is armed any more. */
	fib_sched_stop(sched);
	fib_sched_destroy(sched);
	return 0;
}
