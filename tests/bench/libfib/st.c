/*
 * State Threads, see bench.h. Its default stacks. It has no yield, so that the
 * fibers of `switch` and those that let others run hand over by a condition,
 * the quickest way there is; and no channels: `channel` passes a value under
 * a condition, which is what its programs do.
 */
#include <st.h>
#include "bench.h"

static uint64_t ran;

static void *count(void *arg)
{
	ran++;
	return NULL;
}

static st_cond_t all_ran;
static uint64_t wanted;

static void *count_up(void *arg)
{
	if (++ran == wanted)
		st_cond_signal(all_ran);
	return NULL;
}

static void run_until(uint64_t n)
{
	wanted = n;
	while (ran != n)
		bench_check(st_cond_wait(all_ran) == 0);
}

static void latency(uint64_t n)
{
	while (n--) {
		wanted = ran + 1;
		bench_check(st_thread_create(count_up, NULL, 0, 0));
		run_until(wanted);
	}
}

static void throughput(uint64_t n)
{
	for (uint64_t done = 0; done < n; done += BATCH) {
		wanted = ran + BATCH;
		for (int i = 0; i < BATCH; i++)
			bench_check(st_thread_create(count_up, NULL, 0, 0));
		run_until(wanted);
	}
}

static void create(uint64_t n)
{
	uint64_t start = ran;

	for (uint64_t i = 0; i < n; i++) {
		st_thread_t t = st_thread_create(count, NULL, 1, 0);

		bench_check(t && st_thread_join(t, NULL) == 0);
	}
	bench_check(ran == start + n);
}

/* Two threads that take turns: 0 is main's. */
static st_cond_t turn_of[2];
static int turn;
static uint64_t timeout_usec, slot, turns;

static void take_turn(int who)
{
	turn = !who;
	st_cond_signal(turn_of[!who]);
	while (turn != who)
		bench_check(st_cond_timedwait(turn_of[who], timeout_usec) == 0);
}

static void *turner(void *arg)
{
	for (uint64_t i = 0; i < turns; i++) {
		while (turn != 1)
			bench_check(st_cond_timedwait(turn_of[1],
						      timeout_usec) == 0);
		turn = 0;
		st_cond_signal(turn_of[0]);
	}
	return NULL;
}

static void turn_about(uint64_t n)
{
	st_thread_t other;

	turns = n;
	turn = 0;
	other = st_thread_create(turner, NULL, 1, 0);
	bench_check(other);
	for (uint64_t i = 0; i < n; i++) {
		slot = i;
		take_turn(0);
		bench_check(slot == i);
	}
	st_thread_join(other, NULL);
}

static void switches(uint64_t n)
{
	timeout_usec = ST_UTIME_NO_TIMEOUT;
	turn_about(n / 2);
}

static void channel(uint64_t n)
{
	timeout_usec = ST_UTIME_NO_TIMEOUT;
	turn_about(n);
}

/* Of the two waits of a turn one has a timeout: main's. */
static void *waker(void *arg)
{
	for (uint64_t i = 0; i < turns; i++) {
		while (turn != 1)
			st_cond_wait(turn_of[1]);
		turn = 0;
		st_cond_signal(turn_of[0]);
	}
	return NULL;
}

static void timed_wait(uint64_t n)
{
	st_thread_t other;

	timeout_usec = LONG_SEC * 1000000ull;
	turns = n;
	turn = 0;
	other = st_thread_create(waker, NULL, 1, 0);
	bench_check(other);
	for (uint64_t i = 0; i < n; i++)
		take_turn(0);
	st_thread_join(other, NULL);
}

static const struct bench benches[] = {
	{ "latency", latency },
	{ "throughput", throughput },
	{ "switch", switches },
	{ "create", create },
	{ "timed_wait", timed_wait },
	{ "channel", channel },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	bench_check(st_init() == 0);
	all_ran = st_cond_new();
	turn_of[0] = st_cond_new();
	turn_of[1] = st_cond_new();
	return bench_main(argc, argv, benches);
}
