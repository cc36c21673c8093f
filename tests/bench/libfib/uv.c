/*
 * libuv, see bench.h. It has no fibers: of the rows there are a timer, and a call
 * of uv_async_send that has a loop in another thread run a function, which sends
 * one back.
 */
#include <pthread.h>
#include <uv.h>
#include "bench.h"

static uv_loop_t *here, there;
static uv_async_t to_here, to_there;
static uint64_t left;

static void never(uv_timer_t *t)
{
	abort();
}

static void timer(uint64_t n)
{
	static uv_timer_t t;

	bench_check(uv_timer_init(here, &t) == 0);
	while (n--) {
		bench_check(uv_timer_start(&t, never, LONG_SEC * 1000, 0) == 0);
		bench_check(uv_timer_stop(&t) == 0);
	}
}

static void run_there(uv_async_t *a)
{
	uv_async_send(&to_here);
}

static void run_here(uv_async_t *a)
{
	if (--left)
		uv_async_send(&to_there);
	else
		uv_stop(here);
}

static void *loop(void *arg)
{
	uv_run(&there, UV_RUN_DEFAULT);
	return arg;
}

static void across(uint64_t n)
{
	static int started;
	pthread_t t;

	if (!started) {
		started = 1;
		bench_check(uv_loop_init(&there) == 0);
		bench_check(uv_async_init(&there, &to_there, run_there) == 0);
		bench_check(uv_async_init(here, &to_here, run_here) == 0);
		bench_check(pthread_create(&t, NULL, loop, NULL) == 0);
	}
	left = n;
	uv_async_send(&to_there);
	uv_run(here, UV_RUN_DEFAULT);
	bench_check(left == 0);
}

static const struct bench benches[] = {
	{ "timer", timer },
	{ "across", across },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	here = uv_default_loop();
	return bench_main(argc, argv, benches);
}
