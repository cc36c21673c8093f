/*
 * Three tasks on three executors. Each prints where it begins, and where it
 * goes on after each wait: always on its own executor, whoever woke it.
 *
 *	show	on a looper, a thread called "ui"
 *	parse	on a scheduler with two threads, work_0 and work_1
 *	load	on a pool, whose threads are called fib-async
 *
 * show awaits parse, which awaits pages from load through a channel, and asks
 * for more through another; load ends with an error, which goes all the way up.
 */
#include <errno.h>
#include <fib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct fib_executor *ui, *work, *pool;
static struct fib_channel *pages, *more;

/* Which of a scheduler's threads it is does not matter. */
static void say(const char *task, const char *what)
{
	char thread[16];

	pthread_getname_np(pthread_self(), thread, sizeof(thread));
	if (strncmp(thread, "work_", 5) == 0)
		strcpy(thread, "work_*");
	printf("%-6s on %-10s %s\n", task, thread, what);
}

static long load(void *arg)
{
	int page;

	say("load", "begins");
	for (page = 1; page <= 2; page++) {
		fib_sleep(10 * 1000 * 1000);
		say("load", "has slept, and sends a page");
		fib_channel_send(pages, &page, FIB_NEVER);
		fib_channel_recv(more, &page, FIB_NEVER);
		say("load", "was asked for more");
	}
	fib_channel_close(pages);
	return -ENODATA;
}

static long parse(void *arg)
{
	struct fib_task *loading;
	long err;
	int page;

	say("parse", "begins");
	err = fib_task_start(&loading, pool, load, NULL);
	if (err)
		return err;
	while (fib_channel_recv(pages, &page, FIB_NEVER) == 0) {
		say("parse", page == 1 ? "got page 1" : "got page 2");
		fib_channel_send(more, &page, FIB_NEVER);
	}
	err = fib_task_await(loading);
	say("parse", "has awaited load");
	fib_task_put(loading);
	return err;
}

static long show(void *arg)
{
	struct fib_task *parsing;
	long err;

	say("show", "begins");
	err = fib_task_start(&parsing, work, parse, NULL);
	if (err)
		return err;
	err = fib_task_await(parsing);
	say("show", "has awaited parse");
	fib_task_put(parsing);
	return err;
}

static void on_result(long result, void *arg)
{
	say("then", "is not called");
}

static void on_error(long result, void *arg)
{
	say("catch", strerror((int)-result));
}

static void at_the_end(long result, void *arg)
{
	say("finally", "always");
}

int main(void)
{
	struct fib_sched *sched;
	struct fib_task *showing;

	if (fib_channel_create(&pages, sizeof(int), 0) ||
	    fib_channel_create(&more, sizeof(int), 0) ||
	    fib_sched_create(&sched, 2, false, "work") ||
	    fib_sched_start(sched) || fib_executor_sched(&work, sched) ||
	    fib_executor_looper(&ui, "ui") || fib_executor_async(&pool, 4))
		return 1;
	if (fib_task_start(&showing, ui, show, NULL))
		return 1;
	fib_task_then(showing, on_result, NULL);
	fib_task_catch(showing, on_error, NULL);
	fib_task_finally(showing, at_the_end, NULL);
	printf("main awaited: %s\n", strerror((int)-fib_task_await(showing)));
	fib_task_put(showing);

	fib_executor_shutdown(pool, true);
	printf("work after shutdown: %s\n",
	       strerror(-fib_task_start(NULL, pool, load, NULL)));
	fib_executor_destroy(ui);
	fib_executor_destroy(work);
	fib_executor_destroy(pool);
	fib_sched_stop(sched);
	fib_sched_destroy(sched);
	fib_channel_destroy(pages);
	fib_channel_destroy(more);
	return 0;
}
