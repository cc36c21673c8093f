/*
 * The flags of past floating-point exceptions are a thread's own, those of the
 * x87 as those of SSE: through calls that wait and turns of other threads, by libc's
 * functions and by syscall(). A new thread has its creator's.
 */
#include "t.h"
#include <fenv.h>

enum { TURNS = 4 };

static int go[2], back[2];
static volatile long double one_x87 = 1, none_x87;
static volatile double one = 1, none;

static void take(int fd, int i)
{
	char c;

	if (i & 1)
		CHECK(read(fd, &c, 1) == 1);
	else
		CHECK(syscall(SYS_read, fd, &c, 1) == 1);
}

static void *other(void *arg)
{
	int flags = FE_INVALID;

	CHECK(fetestexcept(FE_ALL_EXCEPT) == flags);
	for (int i = 0; i < TURNS; i++) {
		take(go[0], i);
		CHECK(fetestexcept(FE_ALL_EXCEPT) == flags);
		if (i == 0)
			one_x87 = one_x87 / none_x87;
		else if (i == 1)
			one = one / none;
		flags |= FE_DIVBYZERO;
		t_put(back[1], 'x');
	}
	return arg;
}

int main(void)
{
	pthread_t th;

	t_pipe(go);
	t_pipe(back);
	CHECK(feraiseexcept(FE_INVALID) == 0);
	th = t_thread(other, NULL);
	CHECK(feclearexcept(FE_ALL_EXCEPT) == 0);
	for (int i = 0; i < TURNS; i++) {
		t_put(go[1], 'x');
		take(back[0], i / 2);
		CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
	}
	t_join(th);
	CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
	t_say("each its own");
	return 0;
}
