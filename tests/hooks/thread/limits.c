/* No more threads: pthread_create says EAGAIN and the rest goes on. */
#include "t.h"
#include <sys/resource.h>

static int p[2];

static void *blocked(void *arg)
{
	t_eof(p[0]);
	return arg;
}

int main(void)
{
	static pthread_t th[4000];
	struct rlimit rl = { 3ul << 30, 3ul << 30 };
	pthread_attr_t a;
	int n = 0, r = 0;

	t_pipe(p);
	t_be_threaded();
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, 64ul << 20));
	/* 3 GB of address space hold no 4000 stacks of 64 MB. */
	CHECK(setrlimit(RLIMIT_AS, &rl) == 0);
	while (n < 4000) {
		r = pthread_create(&th[n], &a, blocked, NULL);
		if (r)
			break;
		n++;
	}
	CHECK(r == EAGAIN || r == ENOMEM);
	CHECK(n >= 5 && n < 100);
	t_close(p[1]);
	for (int i = 0; i < n; i++)
		t_join(th[i]);
	CHECK_0(pthread_create(&th[0], &a, blocked, NULL));
	t_join(th[0]);
	t_say("refused, then possible again");
	return 0;
}
