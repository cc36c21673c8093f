/* A library with thread-local storage that is loaded while threads run. */
#include <stddef.h>
#include "tlslib.h"

static __thread int counter = 1000;
static __thread char big[4096];

int tlslib_next(void)
{
	big[counter % (int)sizeof(big)]++;
	return ++counter;
}

int tlslib_touched(void)
{
	int n = 0;

	for (size_t i = 0; i < sizeof(big); i++)
		n += big[i];
	return n;
}
