/* The program's first thread is made by thrd_create: a door of its own. */
#include "t.h"
#include <threads.h>

static int p[2];

static int work(void *arg)
{
	(void)arg;
	return t_get(p[0]);
}

int main(void)
{
	thrd_t th;
	int r;

	t_pipe(p);
	CHECK(thrd_create(&th, work, NULL) == thrd_success);
	t_settle();
	t_put(p[1], 'a');
	CHECK(thrd_join(th, &r) == thrd_success);
	t_say("%c", r);
	return 0;
}
