/*
 * Cancelling: a task that waits is told to end, and does, in its own order. What
 * it needs for that goes on behind a shield.
 */
#include <errno.h>
#include <fib.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull

static struct fib_channel *log;

static void say(const char *what)
{
	char line[32] = "";

	strncpy(line, what, sizeof(line) - 1);
	fib_channel_send(log, line, FIB_NEVER);
}

static long serve(void *arg)
{
	long r = 0;

	say("serve: begins");
	while (r == 0)
		r = fib_sleep(3600 * 1000 * MS);
	/* say() waits, and would not any more */
	fib_shield_enter();
	say("serve: cleans up");
	fib_sleep(MS);
	say("serve: ends");
	fib_shield_leave();
	return r;
}

int main(void)
{
	struct fib_executor *pool;
	struct fib_task *task;
	char line[32];
	long r;

	if (fib_channel_create(&log, sizeof(line), 0) ||
	    fib_executor_async(&pool, 2) ||
	    fib_task_start(&task, pool, serve, NULL))
		return 1;
	fib_channel_recv(log, line, FIB_NEVER);
	printf("%s\n", line);
	fib_task_cancel(task);
	while (fib_channel_recv(log, line, 100 * MS) == 0)
		printf("%s\n", line);
	r = fib_task_await(task);
	printf("main: %s\n", strerror((int)-r));
	fib_task_put(task);
	fib_executor_destroy(pool);
	fib_channel_destroy(log);
	return 0;
}
