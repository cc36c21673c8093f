/* Names that are known, and near to what was written: see near.h. */
#include <string.h>
#include "shared/near.h"

#define LONGEST 32

size_t fib_distance(const char *a, size_t n, const char *b)
{
	size_t m = strlen(b), row[LONGEST];

	if (n >= LONGEST || m >= LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

/* Each FIB_CHAOS_POINT() and FIB_CHAOS_ODDS() of the sources. */
static const char points[][LONGEST] = {
#define POINT(name) #name,
#include <fibhook_points.h>
#undef POINT
};

#define POINT(name) _Static_assert(sizeof(#name) <= LONGEST, "a long name");
#include <fibhook_points.h>

const char *fib_no_point(const char *list, size_t *len)
{
	for (const char *p = list + (*list == '-');; p += *len + 1) {
		size_t i = 0;

		*len = strcspn(p, ",");
		while (i < sizeof(points) / sizeof(*points) &&
		       (strlen(points[i]) != *len ||
			strncmp(points[i], p, *len) != 0))
			i++;
		if (i == sizeof(points) / sizeof(*points))
			return p;
		if (!p[*len])
			return NULL;
	}
}
