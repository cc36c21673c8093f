/* exit() from a thread flushes what main printed.
 * t-expect: exit 5
 */
#include "t.h"

static void *leaves(void *arg)
{
	printf("from the thread\n");
	exit(5);
	return arg;
}

int main(void)
{
	printf("from main\n");
	t_thread(leaves, NULL);
	for (;;)
		pause();
}
