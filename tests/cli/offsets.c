/* Where things lie that held.py and trace.py look for. */
#include <stdio.h>
#include "runtime/sched.h"
#include "runtime/trace.h"

int main(void)
{
	printf("trace.on %zu\n", offsetof(struct fib_symtab, trace.on));
	printf("workers_lock %zu\ninject_lock %zu\n",
	       offsetof(struct fib_sched, workers_lock),
	       offsetof(struct fib_sched, inject_lock));
	return 0;
}
