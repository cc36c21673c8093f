/*
 * Vector and floating-point state belongs to the thread: values and rounding
 * modes survive blocking calls, which here sit between the operations.
 */
#include "t.h"
#include <fenv.h>
#include <math.h>

enum { N = 12, TURNS = 100 };

static int p[N][2];

typedef double vec __attribute__((vector_size(32)));

static void *work(void *arg)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
				     FE_TOWARDZERO };
	int i = (int)(intptr_t)arg, mode = modes[i % 4];
	volatile double one = 1, three = 3;
	double third, sum = 0, expect = 0;
	vec v = { i, i + 1, i + 2, i + 3 };
	long double ld = i;

	CHECK(fesetround(mode) == 0);
	third = one / three;
	for (int k = 0; k < TURNS; k++) {
		char c;

		t_put(p[(i + 1) % N][1], 'x');
		v += 1.0;
		ld += 0.25L;
		CHECK(read(p[i][0], &c, 1) == 1);
		CHECK(fegetround() == mode);
		CHECK(one / three == third);
		sum += v[0];
		expect += i + 1 + k;
		CHECK(sum == expect);
		sched_yield();
	}
	CHECK(v[3] == i + 3 + TURNS);
	CHECK(ld == i + TURNS * 0.25L);
	return NULL;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		t_pipe(p[i]);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(fegetround() == FE_TONEAREST);
	/* A new thread inherits its creator's rounding mode. */
	t_say("%d threads", N);
	return 0;
}
