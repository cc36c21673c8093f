/*
 * Numbers as text, for who has no printf(): the names of files in /proc and what
 * stands there, lines for stderr. No state; anybody may call.
 */
#ifndef FIB_DIGITS_H
#define FIB_DIGITS_H

#include <stdint.h>

#define FIB_DECIMAL_MAX 21 /* bytes of the longest, with its NUL */

/** @v in decimal and a NUL, to @to. Returns the number of digits. */
static inline unsigned fib_put_decimal(char *to, uint64_t v)
{
	char digit[FIB_DECIMAL_MAX];
	unsigned n = 0, len = 0;

	do {
		digit[n++] = (char)('0' + v % 10);
	} while (v /= 10);
	while (n)
		to[len++] = digit[--n];
	to[len] = 0;
	return len;
}

#define FIB_FD_LINK 32
/**
 * The name that /proc has for descriptor @fd of the caller. (/proc/self is the first kernel
 * thread, which has none when main has ended.)
 */
static inline void fib_fd_link(char path[FIB_FD_LINK], int fd)
{
	__builtin_memcpy(path, "/proc/thread-self/fd/", 21);
	fib_put_decimal(path + 21, (unsigned)fd);
}

/** The decimal number at *@s, 0 if there is none. *@s is then behind it. */
static inline uint64_t fib_get_decimal(const char **s)
{
	uint64_t v = 0;

	for (; **s >= '0' && **s <= '9'; ++*s)
		v = v * 10 + (uint64_t)(**s - '0');
	return v;
}

/** The same in base 16, with small letters. */
static inline uint64_t fib_get_hex(const char **s)
{
	uint64_t v = 0;

	for (;; ++*s) {
		if (**s >= '0' && **s <= '9')
			v = v << 4 | (uint64_t)(**s - '0');
		else if (**s >= 'a' && **s <= 'f')
			v = v << 4 | (uint64_t)(**s - 'a' + 10);
		else
			return v;
	}
}

#endif
