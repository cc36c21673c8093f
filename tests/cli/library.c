/*
 * A program that uses libfib, not hooked: fibers in each state that fibhook dump
 * can tell, each in a function named after its state, in two schedulers, until
 * SIGTERM.
 */
#include <fib.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SECONDS	 1000000000ull

static struct fib_mutex one = FIB_MUTEX_INIT, two = FIB_MUTEX_INIT;
static struct fib_sem never = FIB_SEM_INIT(0);
static struct fib_channel *channel;
static struct fib *by_hand;
static int pipes[2];
static volatile int sink, go_on = 1;

static _Atomic int begun;
#define SETTLED 8

/* Keeps the call before it from being the last: a frame of its own. */
#define DONE() (sink++)

static NOINLINE void lib_read(void *arg)
{
	char c;

	fib_set_name(fib_current(), "reader\033[7m");
	begun++;
	fib_read(pipes[0], &c, 1, FIB_NEVER);
	DONE();
}

static NOINLINE void lib_sleep(void *arg)
{
	begun++;
	fib_sleep(1000 * SECONDS);
	DONE();
}

static NOINLINE void lib_sem(void *arg)
{
	begun++;
	fib_sem_wait(&never, 1000 * SECONDS);
	DONE();
}

static NOINLINE void lib_channel(void *arg)
{
	int n;

	begun++;
	fib_channel_recv(channel, &n, FIB_NEVER);
	DONE();
}

/* These two wait for each other. */
static NOINLINE void lib_first(void *arg)
{
	fib_mutex_lock(&one);
	begun++;
	while (begun < SETTLED)
		fib_sleep(1000000);
	fib_mutex_lock(&two);
	DONE();
}

static NOINLINE void lib_second(void *arg)
{
	fib_mutex_lock(&two);
	begun++;
	while (begun < SETTLED)
		fib_sleep(1000000);
	fib_mutex_lock(&one);
	DONE();
}

static NOINLINE void lib_on_top(void *arg)
{
	char c;

	begun++;
	fib_read(pipes[0], &c, 1, FIB_NEVER);
	DONE();
}

static NOINLINE void lib_below(void *arg)
{
	if (fib_create(&by_hand, lib_on_top, NULL, 0) == 0)
		fib_resume(by_hand);
	DONE();
}

static NOINLINE void lib_run(void *arg)
{
	begun++;
	while (go_on)
		DONE();
}

static void has_ended(void *arg)
{
}

static void lib_new(void *arg)
{
}

static void must(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "library: %d\n", r);
	exit(1);
}

int main(void)
{
	static void (*const waits[])(
		void *) = { lib_read,  lib_sleep,  lib_sem,  lib_channel,
			    lib_first, lib_second, lib_below };
	struct fib_sched *io, *busy;
	struct fib *ended, *new;

	if (pipe(pipes))
		return 1;
	must(fib_channel_create(&channel, sizeof(int), 1));
	must(fib_sched_create(&io, 2, false, "waits"));
	must(fib_sched_create(&busy, 1, false, "busy"));
	must(fib_sched_start(io));
	must(fib_sched_start(busy));
	for (unsigned i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		must(fib_sched_submit(io, waits[i], NULL, FIB_ANY_THREAD));
	must(fib_sched_submit(busy, lib_run, NULL, FIB_ANY_THREAD));
	must(fib_create(&ended, has_ended, NULL, 0));
	must(fib_resume(ended));
	must(fib_create(&new, lib_new, NULL, 0));
	fib_set_name(new, "new");
	while (begun < SETTLED)
		sched_yield();
	/* The two are at their second mutex when both words say so. */
	while (*(volatile uint32_t *)&one.word != 2 ||
	       *(volatile uint32_t *)&two.word != 2)
		sched_yield();
	puts("ready");
	fflush(stdout);
	pause();
}
