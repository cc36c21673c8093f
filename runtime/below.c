/*
 * What the engine needs where it runs below libc, as one for the whole process.
 */
#include "runtime/sched.h"

struct fib_sched fib_sched = { .iom = { .epfd = -1, .wakefd = -1 } };

void *const fib_nobody[2];
_Static_assert(offsetof(struct fib_worker, self) == 0 &&
		       offsetof(struct fib_worker, cur) == sizeof(void *),
	       "fib_host_self.h");

/*
 * The compiler may call these four. They are hidden, use general registers
 * only, and so hold for code that runs where vector registers are live.
 */
void *memcpy(void *restrict d, const void *restrict s, size_t n);
void *memmove(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict d, const void *restrict s, size_t n)
{
	fib_bytes_copy(d, s, n);
	return d;
}

void *memmove(void *d, const void *s, size_t n)
{
	char *dp = d;
	const char *sp = s;

	if (dp <= sp || dp >= sp + n)
		return memcpy(d, s, n);
	while (n--)
		dp[n] = sp[n];
	return d;
}

void *memset(void *d, int c, size_t n)
{
	fib_bytes_fill(d, c, n);
	return d;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
