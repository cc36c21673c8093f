/* futex_waitv: several words at once. */
#include "futex.h"

static uint32_t w[3];

static long waitv(struct futex_waitv *v, unsigned n, struct timespec *ts)
{
	return syscall(SYS_futex_waitv, v, n, 0, ts, CLOCK_MONOTONIC);
}

static void *waiter(void *arg)
{
	struct futex_waitv v[3];

	(void)arg;
	memset(v, 0, sizeof(v));
	for (int i = 0; i < 3; i++) {
		v[i].uaddr = (uintptr_t)&w[i];
		v[i].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
	}
	return (void *)waitv(v, 3, NULL);
}

int main(void)
{
	struct futex_waitv v = { .uaddr = (uintptr_t)&w[0],
				 .val = 1,
				 .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG };
	struct timespec ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	pthread_t th;

	if (waitv(&v, 1, NULL) == -1 && errno == ENOSYS)
		t_skip("the kernel has no futex_waitv");
	CHECK_ERR(waitv(&v, 1, NULL), EAGAIN);
	v.val = 0;
	CHECK_ERR(waitv(&v, 1, &ts), ETIMEDOUT);
	for (int i = 0; i < 3; i++) {
		th = t_thread(waiter, NULL);
		f_wake_n(&w[i], 1, FUTEX_PRIVATE_FLAG);
		t_say("woken by word %d", (int)(intptr_t)t_join(th));
	}
	return 0;
}
