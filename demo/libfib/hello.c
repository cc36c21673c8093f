/*
 * Fibers by hand: a function that is left in its midst and entered again.
 *
 * No scheduler is involved: fib_resume() switches to the fiber, and
 * fib_yield() switches back to whoever resumed it.
 */
#include <fib.h>
#include <stdio.h>
#include <string.h>

static void greet(void *arg)
{
	const char *whom = arg;

	printf("%s: hello\n", fib_name(fib_current()));
	fib_yield();
	printf("%s: hello again, %s\n", fib_name(fib_current()), whom);
}

static void again(void *arg)
{
	printf("%s: another function, on the same stack\n",
	       fib_name(fib_current()));
}

static int check(int err, const char *what)
{
	if (err < 0)
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
	return err < 0;
}

int main(void)
{
	struct fib *f[2];

	for (int i = 0; i < 2; i++) {
		if (check(fib_create(&f[i], greet, "world", 0), "fib_create"))
			return 1;
		fib_set_name(f[i], i ? "second" : "first");
	}
	printf("main: %zu fibers\n", fib_total());
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 2; i++)
			fib_resume(f[i]);
	printf("main: both have %s\n",
	       fib_state(f[0]) == FIB_TERM && fib_state(f[1]) == FIB_TERM ?
		       "ended" :
		       "not ended");
	fib_reset(f[0], again, NULL);
	fib_resume(f[0]);
	/* What cannot be is refused. */
	printf("main: one more time? %s\n", strerror(-fib_resume(f[0])));
	for (int i = 0; i < 2; i++)
		fib_destroy(f[i]);
	printf("main: %zu fibers\n", fib_total());
	return 0;
}
