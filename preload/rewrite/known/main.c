/* Makes the table of known sites: scan.c. */
#include "preload/rewrite/known/scan.h"

int main(void)
{
	return fib_known_print();
}
