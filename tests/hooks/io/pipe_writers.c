/*
 * Many threads write to one pipe at once, more than fits and less, and one reads as much
 * as it likes: none of them waits for ever, and all of it comes.
 */
#include "t.h"

enum { WRITERS = 16, WRITES = 300, MOST = 9000 };

static int ends[2];
static _Atomic long sent;

static void *writer(void *arg)
{
	static const char bytes[MOST];
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < WRITES; i++) {
		size_t n = 1 + (size_t)rand_r(&seed) % (i % 2 ? MOST : 50);

		CHECK(write(ends[1], bytes, n) == (ssize_t)n);
		sent += (long)n;
	}
	return NULL;
}

static void *closer(void *arg)
{
	pthread_t *th = arg;

	for (int i = 0; i < WRITERS; i++)
		t_join(th[i]);
	t_close(ends[1]);
	return NULL;
}

static void round_of(unsigned seed)
{
	static char b[2 * MOST];
	pthread_t th[WRITERS], last;
	long got = 0;
	ssize_t r;

	t_pipe(ends);
	sent = 0;
	for (unsigned i = 0; i < WRITERS; i++)
		th[i] = t_thread(writer,
				 (void *)(uintptr_t)(seed * WRITERS + i));
	last = t_thread(closer, th);
	do {
		r = read(ends[0], b, 1 + (size_t)rand_r(&seed) % sizeof(b));
		CHECK(r >= 0);
		got += r;
	} while (r > 0);
	t_join(last);
	CHECK(got == sent);
	t_close(ends[0]);
}

int main(void)
{
	for (unsigned seed = 1; seed <= 40; seed++)
		round_of(seed);
	t_say("all of it, 40 times");
	return 0;
}
