/* Where locks of the scheduler lie in struct fib_sched, for held.py. */
#include <stdio.h>
#include "runtime/sched.h"

int main(void)
{
	printf("workers_lock %zu\ninject_lock %zu\n",
	       offsetof(struct fib_sched, workers_lock),
	       offsetof(struct fib_sched, inject_lock));
	return 0;
}
