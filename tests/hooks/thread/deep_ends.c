/*
 * What threads have had of their stacks is free memory again when they have ended, and
 * the next one finds nothing of it: after one that has waited and one that has not, beside
 * others that leave nothing, be it that libc keeps the stack or unmaps it.
 */
#include "t.h"

enum { ALIVE = 8, SHALLOW = 100, DEEP = 6 << 20, FROM = 1 << 20, PAGES = 64 };

static pthread_barrier_t all;

static int __attribute__((noinline)) dig(void)
{
	volatile char room[DEEP];

	for (int i = 0; i < DEEP; i += 4096)
		room[i] = 1;
	return room[DEEP / 2 & ~4095];
}

static void *digs(void *arg)
{
	CHECK(dig() == 1);
	return arg;
}

static void *digs_and_waits(void *arg)
{
	digs(arg);
	pthread_barrier_wait(&all);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* How many bytes that are not 0, where it has not been yet. */
static void *looks(void *arg)
{
	const volatile char *p = (char *)__builtin_frame_address(0) - FROM;
	long n = 0;

	for (int i = 0; i < PAGES * 4096; i++)
		n += p[-i] != 0;
	*(long *)arg = n;
	return arg;
}

/* Private memory that is there, in kB. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kb = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f) &&
	       sscanf(line, "RssAnon: %ld kB", &kb) != 1)
		;
	CHECK(kb >= 0 && fclose(f) == 0);
	return kb;
}

static void burst(void *(*fn)(void *), int n)
{
	pthread_t th[ALIVE];

	CHECK(pthread_barrier_init(&all, NULL, (unsigned)n) == 0);
	for (int i = 0; i < n; i++)
		th[i] = t_thread(fn, NULL);
	for (int i = 0; i < n; i++)
		t_join(th[i]);
}

static void after(const char *what, void *(*fn)(void *), int n)
{
	long before = resident(), left = -1;

	for (int i = 0; i < SHALLOW; i++)
		burst(nothing, 1);
	burst(fn, n);
	t_say("%s: %s", what,
	      resident() < before + DEEP / 1536 ? "given back" : "kept");
	t_join(t_thread(looks, &left));
	t_say("%s: %ld left", what, left);
}

int main(void)
{
	after("one", digs, 1);
	after("one that waits", digs_and_waits, 1);
	after("several", digs, ALIVE);
	after("several that wait", digs_and_waits, ALIVE);
	after("one again", digs, 1);
	return 0;
}
