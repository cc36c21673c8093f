/*
 * A cancel, and then the descriptor that the thread reads is closed: wherever
 * in read() the thread is by then, it is cancelled, and never told EBADF.
 *
 * From glibc 2.41 on a cancel that comes when read() has already failed leaves it at
 * that: natively EBADF is seen now and then.
 */
#include "t.h"
#include <gnu/libc-version.h>

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
	int by_pc = strverscmp(gnu_get_libc_version(), "2.41") >= 0;
	int cancelled = 0;

	for (int i = 0; i < TURNS; i++) {
		pthread_t th;
		void *ret;
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
		ret = t_join(th);
		cancelled += ret == PTHREAD_CANCELED ||
			     (by_pc && ret == (void *)EBADF);
		t_close(p[1]);
	}
	t_say("%d of %d cancelled", cancelled, TURNS);
	return 0;
}
