/*
 * A signal that comes in the moment before a wait in ioctl() begins: its handler runs, and
 * does not wait for the end of that.
 */
#include "t.h"
#include <linux/vt.h>
#include <sys/ioctl.h>

enum { NS = 1500000000, LATE_S = 15 };

static _Atomic int handled, begun, ended;
static int other; /* console */

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	for (;;) {
		int n = begun + 1;

		begun = n;
		ioctl(*(int *)arg, VT_WAITACTIVE, other);
		ended = n;
	}
	return NULL;
}

/* It has begun round @n, or will in a moment. */
static void await(const _Atomic int *word, int n, long long until)
{
	for (int i = 0; *word < n && t_now() < until; i++)
		if (i > 1000)
			sched_yield();
}

int main(void)
{
	int fd = open("/dev/tty0", O_RDWR | O_NOCTTY);
	long long start = t_now();
	struct vt_stat s;
	unsigned seed = 1;
	pthread_t th;

	if (fd < 0 || ioctl(fd, VT_GETSTATE, &s))
		t_skip("no consoles");
	other = s.v_active == 12 ? 11 : 12;
	t_handle(SIGUSR1, handler, 0);
	th = t_thread(waits, &fd);
	for (int n = 1; t_now() - start < NS; n++) {
		await(&begun, n, LLONG_MAX);
		for (volatile int d = rand_r(&seed) % 400; d > 0; d--)
			;
		while (ended < n) {
			int before = handled;

			CHECK_0(pthread_kill(th, SIGUSR1));
			await(&handled, before + 1, t_now() + LATE_S * T_SEC);
			CHECK(handled > before);
			/* It may have run before the wait began. */
			await(&ended, n, t_now() + T_MS / 2);
		}
	}
	t_say("all handlers ran");
	return 0;
}
