/* __thread variables, initialised and not, aligned, across blocking calls. */
#include "t.h"

enum { N = 30, TURNS = 60 };

static __thread int number = 42;
static __thread long zero;
static __thread char text[64] = "initial";
static __thread struct {
	char c[64];
} aligned __attribute__((aligned(64)));
static int p[N][2];

static void *check(void *arg)
{
	int i = (int)(intptr_t)arg, *where = &number;
	char c;

	CHECK(number == 42);
	CHECK(zero == 0);
	CHECK(strcmp(text, "initial") == 0);
	CHECK((uintptr_t)&aligned % 64 == 0);
	number = i;
	snprintf(text, sizeof(text), "thread %d", i);
	for (int k = 0; k < TURNS; k++) {
		char want[64];

		t_put(p[(i + 1) % N][1], 'x');
		CHECK(read(p[i][0], &c, 1) == 1);
		zero++;
		CHECK(number == i);
		CHECK(zero == k + 1);
		CHECK(where == &number);
		snprintf(want, sizeof(want), "thread %d", i);
		CHECK(strcmp(text, want) == 0);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t th[N];

	number = -1;
	for (int turn = 0; turn < 5; turn++) {
		for (int i = 0; i < N; i++)
			if (turn == 0)
				t_pipe(p[i]);
		for (int i = 0; i < N; i++)
			th[i] = t_thread(check, (void *)(intptr_t)i);
		for (int i = 0; i < N; i++)
			t_join(th[i]);
	}
	CHECK(number == -1);
	t_say("5 x %d threads", N);
	return 0;
}
