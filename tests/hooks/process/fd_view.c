/*
 * What the program sees of descriptors: the lowest free number is given, in
 * threads too, and the table is not full of strangers below 100.
 */
#include "t.h"

static void *blocked(void *arg)
{
	t_eof(*(int *)arg);
	return NULL;
}

int main(void)
{
	int a, b, p[2], lost = 0;
	pthread_t th;

	CHECK(close_range(3, ~0u, 0) == 0);
	t_be_threaded();
	a = open("/dev/null", O_RDONLY);
	b = open("/dev/null", O_RDONLY);
	t_say("numbers %d %d", a, b);
	t_pipe(p);
	t_say("pipe %d %d", p[0], p[1]);
	th = t_thread(blocked, &p[0]);
	t_settle();
	t_close(a);
	a = dup(0);
	t_say("reused %d", a);
	for (int i = 3; i < 100; i++)
		lost += fcntl(i, F_GETFD) >= 0;
	t_say("%d open from 3 to 99", lost);
	t_close(p[1]);
	t_join(th);
	return 0;
}
