/*
 * FUTEX_WAIT and FUTEX_WAKE on one word of private memory, one with FUTEX_PRIVATE_FLAG and the
 * other without: each finds its own kind alone.
 */
#include "../calls.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t word, other;

static long futex(uint32_t *uaddr, int op, uint32_t val, long timeout,
		  uint32_t *uaddr2, uint32_t val3)
{
	return syscall(SYS_futex, uaddr, op, val, timeout, uaddr2, val3);
}

static long waits(void *private)
{
	long r;

	do
		r = futex(&word,
			  FUTEX_WAIT | (private ? FUTEX_PRIVATE_FLAG : 0), 0, 0,
			  NULL, 0);
	while (r < 0 && errno == EINTR);
	return r;
}

static void run(int mine, int others)
{
	struct t_call c;

	t_begin(&c, waits, mine ? &word : NULL);
	t_say("others wake %ld",
	      futex(&word, FUTEX_WAKE | others, 9, 0, NULL, 0));
	t_say("others wake bits %ld",
	      futex(&word, FUTEX_WAKE_BITSET | others, 9, 0, NULL, ~0u));
	t_say("others move %ld",
	      futex(&word, FUTEX_REQUEUE | others, 0, 9, &other, 0));
	t_say("others' operation wakes %ld",
	      futex(&word, FUTEX_WAKE_OP | others, 9, 9, &other, 0));
	/* It may not wait yet. */
	while (futex(&word, FUTEX_REQUEUE | mine, 0, 9, &other, 0) != 1)
		t_settle();
	t_say("others wake the moved %ld",
	      futex(&other, FUTEX_WAKE | others, 9, 0, NULL, 0));
	t_say("its own wake %ld",
	      futex(&other, FUTEX_WAKE | mine, 9, 0, NULL, 0));
	t_ended("waited", &c);
}

int main(void)
{
	t_say("private");
	run(FUTEX_PRIVATE_FLAG, 0);
	t_say("not private");
	run(0, FUTEX_PRIVATE_FLAG);
	return 0;
}
