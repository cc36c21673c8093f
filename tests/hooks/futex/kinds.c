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

/* An owner that ends hands on what it has by its robust list, to waiters of either kind. */
static struct {
	struct robust_list list;
	uint32_t word;
} owned;
static int pi_kind;

static void *ends(void *arg)
{
	static struct robust_list_head head;

	head.list.next = (void *)((uintptr_t)&owned.list | 1); /* PI */
	head.futex_offset = offsetof(__typeof__(owned), word);
	owned.list.next = (void *)&head.list;
	CHECK(!syscall(SYS_set_robust_list, &head, sizeof(head)));
	CHECK(!futex(&owned.word, FUTEX_LOCK_PI | pi_kind, 0, 0, NULL, 0));
	t_put(*(int *)arg, 'o');
	while (!(__atomic_load_n(&owned.word, __ATOMIC_ACQUIRE) &
		 FUTEX_WAITERS))
		t_settle();
	return NULL;
}

static void owner_ends(int kind)
{
	pthread_t th;
	int p[2];

	t_pipe(p);
	pi_kind = kind;
	owned.word = 0;
	th = t_thread(ends, &p[1]);
	CHECK(t_get(p[0]) == 'o');
	t_say("lock %ld",
	      futex(&owned.word, FUTEX_LOCK_PI | kind, 0, 0, NULL, 0));
	CHECK((owned.word & FUTEX_TID_MASK) == (uint32_t)gettid());
	t_say("owner died: %d", !!(owned.word & FUTEX_OWNER_DIED));
	t_join(th);
	t_close(p[0]);
	t_close(p[1]);
}

int main(void)
{
	t_say("private");
	run(FUTEX_PRIVATE_FLAG, 0);
	t_say("not private");
	run(0, FUTEX_PRIVATE_FLAG);
	t_say("owners");
	owner_ends(FUTEX_PRIVATE_FLAG);
	owner_ends(0);
	return 0;
}
