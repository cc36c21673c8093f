/* Relative FUTEX_WAIT timeouts, bad arguments, a wake just in time. */
#include "futex.h"

static uint32_t w;

static void *timed(void *arg)
{
	struct timespec ts = { 0, 25 * T_MS };
	long long t0 = t_now();
	uint32_t mine = 0;

	CHECK_ERR(futex(&mine, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0), ETIMEDOUT);
	T_TOOK(t0, 25 * T_MS);
	ts = t_ts(0);
	CHECK_ERR(futex(&mine, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0), ETIMEDOUT);
	ts.tv_nsec = -1;
	CHECK_ERR(futex(&mine, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0), EINVAL);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(futex(&mine, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0), EINVAL);
	CHECK_ERR(
		futex((char *)&mine + 1, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0),
		EINVAL);
	CHECK_ERR(futex((void *)16, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0),
		  EFAULT);
	CHECK_ERR(futex(&mine, 99, 0, NULL, NULL, 0), ENOSYS);
	return arg;
}

static void *long_wait(void *arg)
{
	struct timespec ts = { 100, 0 };

	CHECK(futex(&w, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0) == 0);
	return arg;
}

int main(void)
{
	pthread_t th[10];

	timed(NULL);
	for (int i = 0; i < 10; i++)
		th[i] = t_thread(timed, NULL);
	timed(NULL);
	for (int i = 0; i < 10; i++)
		t_join(th[i]);
	t_say("timeouts");
	for (int i = 0; i < 10; i++)
		th[i] = t_thread(long_wait, NULL);
	f_wake_n(&w, 10, FUTEX_PRIVATE_FLAG);
	for (int i = 0; i < 10; i++)
		t_join(th[i]);
	t_say("woken long before");
	return 0;
}
