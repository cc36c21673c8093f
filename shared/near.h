/*
 * What somebody may have meant: names that are near to what was written.
 *
 * No state, no locks, no allocation.
 */
#ifndef FIB_NEAR_H
#define FIB_NEAR_H

#include <stddef.h>

#define FIB_NEAR 3 /* what is nearer than that may be meant */

/** Letters to put in, take out or change until @len of @a are @b; 32: many. */
size_t fib_distance(const char *a, size_t len, const char *b);

/** The first in @list, "a,b,c" or "-a,b,c", that is no point of chaos; its @len, or NULL. */
const char *fib_no_point(const char *list, size_t *len);

#endif
