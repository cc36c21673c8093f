/*
 * Guards of every size, on stacks that are used again: the whole stack can be
 * written, and what lies below it can not.
 *
 * t-case: sizes
 * t-case: hit_small => signal SEGV
 * t-case: hit_large => signal SEGV
 * t-case: hit_locked => signal SEGV
 */
#include "t.h"
#include <sys/resource.h>

enum { N = 64, MAPPED = 1 << 20 };

static pthread_barrier_t all_are_there;
static size_t guard_now;

static void *uses_all(void *arg)
{
	pthread_attr_t a;
	size_t size, guard;
	char *lo, here;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)&lo, &size));
	CHECK_0(pthread_attr_getguardsize(&a, &guard));
	CHECK_0(pthread_attr_destroy(&a));
	CHECK(guard == guard_now);
	for (volatile char *p = lo; p < &here - 4096; p += 4096)
		*p = 1;
	pthread_barrier_wait(&all_are_there);
	return arg;
}

/* More than libc keeps for itself: the mappings go, and come again. */
static void batch(size_t guard)
{
	pthread_attr_t a;
	pthread_t th[N];

	guard_now = guard;
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, MAPPED - guard));
	CHECK_0(pthread_attr_setguardsize(&a, guard));
	CHECK_0(pthread_barrier_init(&all_are_there, NULL, N));
	for (int i = 0; i < N; i++)
		CHECK_0(pthread_create(&th[i], &a, uses_all, NULL));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_0(pthread_attr_destroy(&a));
	CHECK_0(pthread_barrier_destroy(&all_are_there));
}

static void *hits(void *arg)
{
	pthread_attr_t a;
	size_t size;
	char *lo;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, (void **)&lo, &size));
	t_say("down");
	*(volatile char *)(lo - (uintptr_t)arg) = 1;
	t_say("no guard");
	return NULL;
}

static void hit(size_t guard, size_t below)
{
	pthread_attr_t a;
	pthread_t th;

	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, MAPPED));
	CHECK_0(pthread_attr_setguardsize(&a, guard));
	CHECK_0(pthread_create(&th, &a, hits, (void *)below));
	t_join(th);
}

int main(int argc, char **argv)
{
	static const size_t guards[] = { 4096, 0, 65536, 0, 8192, 4096, 0 };
	const char *how = argc > 1 ? argv[1] : "";
	struct rlimit none = { 0, 0 };
	pthread_attr_t a;
	pthread_t th;

	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	if (!strcmp(how, "hit_locked") && mlockall(MCL_FUTURE))
		t_say("not locked");
	if (!strcmp(how, "sizes"))
		for (size_t i = 0; i < T_LEN(guards); i++)
			batch(guards[i]);
	else if (!strcmp(how, "hit_large"))
		hit(1 << 16, 1 << 16);
	else
		hit(1, 1);

	/* It comes on top of the stack, and may be larger; not everything. */
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, 65536));
	CHECK_0(pthread_attr_setguardsize(&a, 1 << 20));
	CHECK_0(pthread_create(&th, &a, t_nothing, NULL));
	t_join(th);
	CHECK_0(pthread_attr_setguardsize(&a, SIZE_MAX - 65536));
	CHECK_RC(pthread_create(&th, &a, t_nothing, NULL), EINVAL);
	t_say("sizes");
	return 0;
}
