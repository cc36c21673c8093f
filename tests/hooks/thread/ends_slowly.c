/*
 * While a thread that has used much of its stack ends, another one asks for its affinity
 * and sets it, each time: until libc knows that it has ended, the kernel knows it.
 *
 * Between the moment at which libc has looked for the id and the call the last of the end
 * may pass, here more so than natively: of fifty threads that may happen to a few.
 *
 * t-chaos-but hook_begin,hook_yield,late_wake,idle_kick: that moment would last long
 */
#include "t.h"
#include <alloca.h>
#include <stdatomic.h>

enum { THREADS = 50, FEW = 5, USES = 4 << 20 };

static atomic_int about;

static void *uses(void *arg)
{
	memset(alloca(USES), (int)(intptr_t)arg + 1, USES);
	atomic_store(&about, 1);
	return NULL;
}

/* Was it refused? It is asked while it ends, which takes a part of that time. */
static int ask_meanwhile(pthread_t th, const cpu_set_t *all)
{
	long long until = t_now() + 3000000;
	int refused = 0;
	cpu_set_t now;

	while (t_now() < until) {
		refused |= pthread_getaffinity_np(th, sizeof(now), &now);
		refused |= pthread_setaffinity_np(th, sizeof(*all), all);
	}
	CHECK(refused == 0 || refused == ESRCH);
	return refused != 0;
}

int main(void)
{
	cpu_set_t all;
	int refused = 0;

	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_t th;

		atomic_store(&about, 0);
		th = t_thread(uses, (void *)(intptr_t)i);
		while (!atomic_load(&about))
			;
		refused += ask_meanwhile(th, &all);
		t_join(th);
	}
	CHECK(refused <= FEW);
	t_say("few or none were refused");
	return 0;
}
