/* Stack attributes: size, a stack of the program's own, guard, bounds. */
#include "t.h"
#include <sys/resource.h>

struct want {
	size_t size, guard;
	char *own;
};

static void *check(void *arg)
{
	struct want *w = arg;
	pthread_attr_t a;
	size_t size, guard;
	void *lo;
	char here;

	CHECK_0(pthread_getattr_np(pthread_self(), &a));
	CHECK_0(pthread_attr_getstack(&a, &lo, &size));
	CHECK_0(pthread_attr_getguardsize(&a, &guard));
	CHECK(&here > (char *)lo);
	CHECK(&here < (char *)lo + size);
	if (w->own) {
		CHECK(lo == w->own);
		CHECK(size == w->size);
	} else {
		/* A larger one from the cache will do. */
		CHECK(size >= w->size);
		CHECK(guard == w->guard);
	}
	CHECK_0(pthread_attr_destroy(&a));
	/* All of it can be used, down to a page above the end. */
	char *low = (char *)lo + (w->own ? 0 : guard) + 16384;
	for (char *p = (char *)((uintptr_t)&here & ~4095ul); p >= low;
	     p -= 4096)
		*(volatile char *)p += 0;
	return NULL;
}

static void run(struct want *w, pthread_attr_t *a)
{
	pthread_t th[4];

	for (int i = 0; i < (w->own ? 1 : 4); i++)
		CHECK_0(pthread_create(&th[i], a, check, w));
	for (int i = 0; i < (w->own ? 1 : 4); i++)
		t_join(th[i]);
}

int main(void)
{
	static const size_t sizes[] = { 16384, 65536, 100 * 4096, 1 << 20,
					64 << 20 };
	struct want w = { 0, 4096, NULL };
	pthread_attr_t a;
	struct rlimit rl;
	size_t size;

	CHECK_0(pthread_attr_init(&a));
	CHECK_RC(pthread_attr_setstacksize(&a, 1000), EINVAL);
	for (size_t i = 0; i < T_LEN(sizes); i++) {
		w.size = sizes[i];
		CHECK_0(pthread_attr_setstacksize(&a, sizes[i]));
		run(&w, &a);
		t_say("stack of %zu", sizes[i]);
	}
	static const size_t guards[] = { 0, 4096, 65536 };
	CHECK_0(pthread_attr_setstacksize(&a, 1 << 20));
	w.size = 1 << 20;
	for (size_t i = 0; i < T_LEN(guards); i++) {
		w.guard = guards[i];
		CHECK_0(pthread_attr_setguardsize(&a, guards[i]));
		run(&w, &a);
		t_say("guard of %zu", guards[i]);
	}
	CHECK_0(pthread_attr_destroy(&a));
	CHECK_0(pthread_attr_init(&a));
	w.size = 256 << 10;
	w.own = mmap(NULL, w.size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(w.own != MAP_FAILED);
	CHECK_0(pthread_attr_setstack(&a, w.own, w.size));
	for (int i = 0; i < 3; i++)
		run(&w, &a);
	CHECK(munmap(w.own, w.size) == 0);
	t_say("the program's own stack");

	/* The default is RLIMIT_STACK's, as it was at the start. */
	CHECK(getrlimit(RLIMIT_STACK, &rl) == 0);
	CHECK_0(pthread_attr_destroy(&a));
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_getattr_default_np(&a));
	CHECK_0(pthread_attr_getstacksize(&a, &size));
	CHECK(rl.rlim_cur == RLIM_INFINITY || size == rl.rlim_cur);
	w = (struct want){ size, 4096, NULL };
	run(&w, NULL);
	t_say("default");
	CHECK_0(pthread_attr_setstacksize(&a, 512 << 10));
	CHECK_0(pthread_setattr_default_np(&a));
	w.size = 512 << 10;
	run(&w, NULL);
	t_say("another default");
	return 0;
}
