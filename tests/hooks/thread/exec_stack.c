/*
 * A program whose stacks are executable (linked with -z execstack): code runs
 * on its threads' stacks, and below them is a guard all the same.
 *
 * t-case: runs
 * t-case: guard => signal SEGV
 * t-case: guard_reused => signal SEGV
 */
#include "t.h"
#include <sys/resource.h>

enum { N = 64, STACK = 1 << 20 };

static pthread_barrier_t all_are_there;

/* mov $42, %eax; ret */
static int runs_here(void)
{
	volatile unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };

	return ((int (*)(void))(uintptr_t)code)();
}

static void bounds(char **lo, size_t *guard)
{
	pthread_attr_t a;
	size_t size;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)lo, &size));
	CHECK_0(pthread_attr_getguardsize(&a, guard));
	CHECK_0(pthread_attr_destroy(&a));
}

static void *runs(void *arg)
{
	size_t guard;
	char *lo;

	bounds(&lo, &guard);
	CHECK(runs_here() == 42);
	/* The stack ends where it says. */
	*(volatile char *)lo = 1;
	pthread_barrier_wait(&all_are_there);
	return arg;
}

static void *hits(void *arg)
{
	size_t guard;
	char *lo;

	bounds(&lo, &guard);
	CHECK(guard >= 4096);
	t_say("down");
	lo[-8] = 1;
	t_say("no guard");
	return arg;
}

static void batch(size_t guard)
{
	pthread_attr_t a;
	pthread_t th[N];

	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, STACK - guard));
	CHECK_0(pthread_attr_setguardsize(&a, guard));
	CHECK_0(pthread_barrier_init(&all_are_there, NULL, N));
	for (int i = 0; i < N; i++)
		CHECK_0(pthread_create(&th[i], &a, runs, NULL));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_0(pthread_attr_destroy(&a));
	CHECK_0(pthread_barrier_destroy(&all_are_there));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct rlimit none = { 0, 0 };

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	CHECK(runs_here() == 42);
	if (strcmp(how, "guard") != 0) {
		static const size_t guards[] = { 4096, 0, 65536, 0, 4096 };

		for (size_t i = 0; i < T_LEN(guards); i++)
			batch(guards[i]);
		t_say("%d threads at a time", N);
	}
	if (strcmp(how, "runs") != 0)
		t_join(t_thread(hits, NULL));
	return 0;
}
