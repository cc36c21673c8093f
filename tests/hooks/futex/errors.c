/* What futex() refuses, in main and in a thread. */
#include "futex.h"

static uint32_t word, other;

static long call(void *uaddr, int op, void *uaddr2)
{
	struct timespec now = { 0, 0 };

	return futex(uaddr, op, 1, &now, uaddr2, 1);
}

static void *refused(void *arg)
{
	static const int in_real_time[] = { FUTEX_WAIT,	    FUTEX_WAKE,
					    FUTEX_REQUEUE,  FUTEX_CMP_REQUEUE,
					    FUTEX_WAKE_OP,  FUTEX_LOCK_PI,
					    FUTEX_UNLOCK_PI };
	char *odd = (char *)&word + 1, *volatile where = (char *)16;
	char *wild = where;

	for (size_t i = 0; i < T_LEN(in_real_time); i++) {
		int op = in_real_time[i] | FUTEX_CLOCK_REALTIME;

		CHECK_ERR(call(&word, op, &other), ENOSYS);
		CHECK_ERR(call(&word, op | FUTEX_PRIVATE_FLAG, &other), ENOSYS);
	}
	CHECK_ERR(call(&word, FUTEX_CMD_MASK, &other), ENOSYS);
	CHECK_ERR(call(odd, FUTEX_WAIT, NULL), EINVAL);
	CHECK_ERR(call(odd, FUTEX_WAKE, NULL), EINVAL);
	CHECK_ERR(call(&word, FUTEX_REQUEUE, odd), EINVAL);
	CHECK_ERR(call(&word, FUTEX_CMP_REQUEUE, odd), EINVAL);
	CHECK_ERR(call(&word, FUTEX_WAKE_OP, odd), EINVAL);
	CHECK_ERR(call(wild, FUTEX_WAIT, NULL), EFAULT);
	CHECK_ERR(call(wild, FUTEX_WAIT_PRIVATE, NULL), EFAULT);
	CHECK_ERR(call(wild, FUTEX_WAKE, NULL), EFAULT);
	CHECK_ERR(call(wild, FUTEX_LOCK_PI, NULL), EFAULT);
	/* A private word is nothing but its address. */
	CHECK(call(wild, FUTEX_WAKE_PRIVATE, NULL) == 0);
	return arg;
}

int main(void)
{
	refused(NULL);
	t_join(t_thread(refused, NULL));
	refused(NULL);
	t_say("refused");
	return 0;
}
