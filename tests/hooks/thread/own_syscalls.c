/*
 * A program with system call instructions of its own, far from libc: futex,
 * calls whose number is not known, and one with moved neighbours. Threads wait
 * for each other through them, and one is cancelled inside.
 */
#include <linux/futex.h>
#include "t.h"

#define ROUNDS 2000

static uint32_t turn, forever;

__attribute__((noinline)) static long call(long nr, long a, long b, long c,
					   long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return r;
}

/* The number stands there; a load and a jump stand right behind. */
__attribute__((noinline)) static long futex_wait(uint32_t *word, uint32_t val)
{
	long r;

	__asm__ volatile("movl $202, %%eax\n\t"
			 "xorl %%r10d, %%r10d\n\t"
			 "syscall\n\t"
			 "cmpl %4, forever_is_zero(%%rip)\n\t"
			 "je 1f\n\t"
			 "ud2\n"
			 "1:"
			 : "=&a"(r)
			 : "D"(word), "S"(FUTEX_WAIT_PRIVATE), "d"(val), "i"(0)
			 : "rcx", "r10", "r11", "memory");
	return r;
}

__attribute__((used)) uint32_t forever_is_zero;

static void *pong(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, now;

	for (int i = 0; i < ROUNDS; i++) {
		while ((now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) % 2 !=
		       me)
			futex_wait(&turn, now);
		__atomic_store_n(&turn, now + 1, __ATOMIC_RELEASE);
		call(SYS_futex, (long)&turn, FUTEX_WAKE_PRIVATE, 1, 0);
	}
	return NULL;
}

static void cleanup(void *arg)
{
	*(int *)arg = 1;
}

static int cleaned, up[2];

static void *sleeper(void *unused)
{
	CHECK_0(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, unused));
	pthread_cleanup_push(cleanup, &cleaned);
	t_put(up[1], 'x');
	for (;;)
		futex_wait(&forever, 0);
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_t t[2], s;
	void *r;

	for (uintptr_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, pong, (void *)i));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(t[i], NULL));
	t_say("%u turns", turn);

	CHECK(call(SYS_getpid, 0, 0, 0, 0) == getpid());
	CHECK(call(SYS_read, -1, 0, 0, 0) == -EBADF);
	CHECK(futex_wait(&turn, 1) == -EAGAIN);

	t_pipe(up);
	CHECK(!pthread_create(&s, NULL, sleeper, NULL));
	t_get(up[0]);
	t_settle();
	CHECK(!pthread_cancel(s));
	CHECK(!pthread_join(s, &r));
	t_say("canceled %d, cleaned %d", r == PTHREAD_CANCELED, cleaned);
	return 0;
}
