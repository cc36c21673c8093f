/* malloc, realloc, free in many threads, freed elsewhere too. */
#include "t.h"

enum { N = 10, TURNS = 4000, SLOTS = 64 };

static void *slot[SLOTS];

static void *work(void *arg)
{
	unsigned x = (unsigned)(intptr_t)arg + 1;

	for (int i = 0; i < TURNS; i++) {
		size_t n;
		unsigned char *p;

		x = x * 1664525u + 1013904223u;
		n = 8 + (x >> 8) % 3000;
		p = malloc(n);
		CHECK(p);
		memset(p, (int)(n & 0xff), n);
		if (x % 5 == 0) {
			p = realloc(p, n * 2);
			CHECK(p);
			for (size_t k = 0; k < n; k++)
				CHECK(p[k] == (n & 0xff));
		}
		p = __atomic_exchange_n(&slot[x % SLOTS], p, __ATOMIC_ACQ_REL);
		free(p);
		if (i % 100 == 0)
			sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	for (int i = 0; i < SLOTS; i++)
		free(slot[i]);
	t_say("%d threads", N);
	return 0;
}
