/* The order of locks: what is against it ends the process with both names. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/fault.h"
#include "tests/unit/unit.h"

static struct fib_lock slot = FIB_LOCK(SLOT), slot2 = FIB_LOCK(SLOT);
static struct fib_lock bucket = FIB_LOCK(FUTEX), queue = FIB_LOCK(RUN_QUEUE);
static struct fib_lock unranked;

/* What a child says that does @fn, and whether it dies of it. */
static const char *says(void (*fn)(void))
{
	static char text[512];
	int end[2], status;
	ssize_t n, got = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		dup2(end[1], 2);
		fn();
		_exit(0);
	}
	close(end[1]);
	while ((n = read(end[0], text + got, sizeof(text) - 1 - (size_t)got)) >
	       0)
		got += n;
	text[got] = 0;
	close(end[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? "another end" : "";
	return WTERMSIG(status) == SIGABRT ? text : "another signal";
}

/* "" for @expected: nothing is said. */
static void check(void (*fn)(void), const char *expected)
{
	const char *text = says(fn);

	if (*expected ? !strstr(text, expected) : *text)
		ck_abort_msg("\"%s\", not \"%s\"", text, expected);
}

static void up(void)
{
	fib_lock(&slot);
	fib_lock(&bucket);
	fib_lock(&queue);
	fib_unlock(&slot);
	fib_unlock(&queue);
	fib_unlock(&bucket);
	fib_lock(&slot);
}

static void down(void)
{
	fib_lock(&queue);
	fib_lock(&slot);
}

/* What is lower has been given back, what is higher has not. */
static void under_the_rest(void)
{
	fib_lock(&slot);
	fib_lock(&queue);
	fib_unlock(&slot);
	fib_lock(&bucket);
}

static void two(void)
{
	fib_lock(&slot);
	fib_lock(&slot2);
}

static void twice(void)
{
	fib_lock(&slot);
	fib_lock(&slot);
}

static void second(void)
{
	fib_lock(&slot);
	fib_lock_second(&slot2);
}

static void second_below(void)
{
	fib_lock(&queue);
	fib_lock_second(&slot);
}

static void no_rank(void)
{
	fib_lock(&unranked);
}

static void try(void)
{
	fib_lock(&queue);
	ck_assert(fib_trylock(&slot));
	ck_assert(!fib_trylock(&slot));
	fib_unlock(&slot);
	ck_assert(fib_lock_within(&bucket, 1));
}

static void free_one(void)
{
	fib_unlock(&slot);
}

START_TEST(order)
{
	check(up, "");
	check(down, "SLOT taken under RUN_QUEUE (taken at tests/unit/lock.c:");
	check(under_the_rest, "FUTEX taken under RUN_QUEUE");
	check(two, "SLOT taken under SLOT");
	check(twice, "SLOT taken under SLOT");
	check(second, "");
	check(second_below, "SLOT taken under RUN_QUEUE");
	check(no_rank, "a lock without a rank");
	check(try, "");
	check(free_one, "a free lock is given back");
}
END_TEST

static void down_fiber(int i)
{
	down();
}

static void on_worker(void)
{
	unit_run(2, down_fiber, 0);
}

static void park_fiber(int i)
{
	fib_lock(&slot);
	fib_wake(fib_self());
	fib_park();
}

static void park(void)
{
	unit_run(2, park_fiber, 0);
}

static void yield_fiber(int i)
{
	fib_lock(&slot);
	fib_sched_yield();
}

static void yield(void)
{
	unit_run(1, yield_fiber, 0);
}

static void nap_fiber(int i)
{
	fib_lock(&slot);
	fib_unlock(&slot);
	unit_nap(MSEC);
	up();
	fib_unlock(&slot);
}

static void nap(void)
{
	unit_run(2, nap_fiber, 0);
}

START_TEST(of_workers)
{
	check(on_worker, "SLOT taken under RUN_QUEUE");
	check(park, "a park under SLOT");
	check(yield, "under SLOT");
	check(nap, "");
}
END_TEST

static uint32_t word, val;

static void peek(void)
{
	fib_lock(&bucket);
	fib_peek32(&word, &val);
}

static void peek_under_another(void)
{
	fib_lock(&slot);
	fib_lock(&bucket);
	fib_peek32(&word, &val);
}

static void copy(void)
{
	fib_lock(&bucket);
	fib_copy(&val, &word, sizeof(val));
}

START_TEST(program_memory)
{
	check(peek, "");
	check(peek_under_another, "program memory under SLOT");
	check(copy, "program memory under FUTEX");
}
END_TEST

static void in_child(void)
{
	long pid;

	fib_lock(&queue);
	pid = fib_raw(SYS_fork); /* libc's would take locks of the library's */
	fib_locks_forget();
	fib_unlock(&queue);
	fib_lock(&slot);
	fib_lock(&bucket);
	if (pid)
		fib_raw(SYS_wait4, pid, 0, 0, 0);
}

START_TEST(forgotten_by_a_child)
{
	check(in_child, "");
}
END_TEST

TCase *unit_lock(void)
{
	TCase *t = tcase_create("lock");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, order);
	tcase_add_test(t, of_workers);
	tcase_add_test(t, program_memory);
	tcase_add_test(t, forgotten_by_a_child);
	return t;
}
