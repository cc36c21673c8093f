/*
 * A cancel, and then the descriptor that the thread reads is closed: wherever
 * in read() the thread is by then, it is cancelled, and never told EBADF.
 */
#include "t.h"

enum { TURNS = 1500 };

static volatile int started;

static void *reader(void *arg)
{
	char c;

	started = 1;
	if (read(*(int *)arg, &c, 1) < 0)
		return (void *)(long)errno;
	return NULL;
}

int main(void)
{
	int cancelled = 0;

	for (int i = 0; i < TURNS; i++) {
		pthread_t th;
		int p[2];

		t_pipe(p);
		started = 0;
		th = t_thread(reader, &p[0]);
		while (!started)
			sched_yield();
		for (volatile int n = i % 97 * 4; n > 0; n--)
			;
		CHECK_0(pthread_cancel(th));
		t_close(p[0]);
		cancelled += t_join(th) == PTHREAD_CANCELED;
		t_close(p[1]);
	}
	t_say("%d of %d cancelled", cancelled, TURNS);
	return 0;
}
