/*
 * What libc says when it ends a program, and how it ends: in a thread, while
 * others wait.
 * t-case: assert => signal ABRT
 * t-case: error => signal ABRT
 * t-case: double_free => signal ABRT
 * t-case: bad_free => signal ABRT
 * t-case: corrupt => signal ABRT
 * t-case: smash => signal ABRT
 * t-case: overflow => signal ABRT
 */
#undef NDEBUG
#include "t.h"
#include <assert.h>
#include <sys/resource.h>

#define NOINLINE __attribute__((noinline, noclone))

static int pipes[2];
static const char *what;
static volatile size_t many = 64;

static NOINLINE void fails(void)
{
	assert(!"it holds");
}

static NOINLINE void fails_with(void)
{
	assert_perror(EBADF);
}

static NOINLINE void double_free(void)
{
	char *volatile p = malloc(40);

	free(p);
	free(p);
}

static NOINLINE void bad_free(void)
{
	char *volatile p = malloc(40);

	free((char *)((uintptr_t)p + 8));
}

/* The compiler does not see whose memory that is. */
static NOINLINE void fill(char *at, size_t n)
{
	for (volatile char *p = at; n; n--)
		*p++ = 'x';
}

/* The size of the block behind it. */
static NOINLINE void corrupt(void)
{
	char *volatile p = malloc(2000), *volatile q = malloc(2000);

	fill(p + 2000, 16);
	free(q);
}

static NOINLINE void smash(void)
{
	char small[16];

	fill(small, many);
	t_say("%c", small[0]);
}

static NOINLINE void overflow(void)
{
	char small[16];

	memset(small, 'x', many);
	t_say("%c", small[0]);
}

static void *thread(void *arg)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} all[] = { { "assert", fails },
		    { "error", fails_with },
		    { "double_free", double_free },
		    { "bad_free", bad_free },
		    { "corrupt", corrupt },
		    { "smash", smash },
		    { "overflow", overflow } };

	for (size_t i = 0; i < T_LEN(all); i++)
		if (!strcmp(all[i].name, what))
			all[i].fn();
	return arg;
}

static void *waits(void *arg)
{
	t_eof(pipes[0]);
	return arg;
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	pthread_t t[3];

	CHECK(argc == 2);
	what = argv[1];
	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	CHECK(pipe(pipes) == 0);
	CHECK_0(pthread_create(&t[0], NULL, waits, NULL));
	CHECK_0(pthread_create(&t[1], NULL, waits, NULL));
	t_settle();
	CHECK_0(pthread_create(&t[2], NULL, thread, NULL));
	CHECK_0(pthread_join(t[2], NULL));
	return 1;
}
