/*
 * futex_wait, futex_wake and futex_requeue (Linux 6.7): among themselves and with the
 * old calls, masks, limits by both clocks, signals, errors.
 */
#include <stdbool.h>
#include "futex.h"
#include <sys/mman.h>

#ifndef SYS_futex_wake
#define SYS_futex_wake	  454
#define SYS_futex_wait	  455
#define SYS_futex_requeue 456
#endif

#define U32	2u
#define PRIVATE ((unsigned)FUTEX_PRIVATE_FLAG)
#define ALL	0xfffffffful

static uint32_t w[2];

static long wake2(void *at, unsigned long mask, int n, unsigned flags)
{
	return syscall(SYS_futex_wake, at, mask, n, flags);
}

static long wait2(void *at, unsigned long val, unsigned long mask,
		  unsigned flags, const struct timespec *ts, int clock)
{
	return syscall(SYS_futex_wait, at, val, mask, flags, ts, clock);
}

struct call {
	bool old;
	unsigned flags;
	unsigned long mask;
	long r;
	int err;
	uint32_t *at;
	long long limit;
	bool done;
};

static void *waiter(void *arg)
{
	struct call *c = arg;

	c->r = c->old ? futex(&w[0],
			      FUTEX_WAIT_BITSET | (int)(c->flags & PRIVATE), 0,
			      NULL, NULL, (uint32_t)c->mask) :
			wait2(&w[0], 0, c->mask, c->flags, NULL, 0);
	c->err = errno;
	return NULL;
}

/* Until one has been woken. */
static void wake_one(bool old, unsigned long mask, unsigned flags)
{
	long r;

	do {
		sched_yield();
		r = old ? futex(&w[0],
				FUTEX_WAKE_BITSET | (int)(flags & PRIVATE), 1,
				NULL, NULL, (uint32_t)mask) :
			  wake2(&w[0], mask, 1, flags);
		CHECK(r >= 0);
	} while (!r);
	CHECK(r == 1);
}

static void try_both(unsigned flags, const char *what)
{
	for (int i = 0; i < 4; i++) {
		struct call c = { i & 1, flags, ALL, -1, 0, w, 0, false };
		pthread_t th = t_thread(waiter, &c);

		wake_one(i & 2, ALL, flags);
		t_join(th);
		CHECK(c.r == 0);
	}
	t_say("%s: the new and the old calls wake each other", what);
}

static void try_masks(void)
{
	struct call a = { false, U32 | PRIVATE, 1, -1, 0, w, 0, false };
	struct call b = { false, U32 | PRIVATE, 2, -1, 0, w, 0, false };
	pthread_t ta = t_thread(waiter, &a), tb = t_thread(waiter, &b);

	wake_one(false, 2, U32 | PRIVATE);
	t_join(tb);
	CHECK(wake2(&w[0], 2, 9, U32 | PRIVATE) == 0);
	wake_one(false, 1, U32 | PRIVATE);
	t_join(ta);
	t_say("masks: %ld %ld", a.r, b.r);
}

static void try_requeue(void)
{
	struct futex_waitv v[2];
	struct call c[3];
	pthread_t th[3];
	long moved = 0, back;

	memset(v, 0, sizeof(v));
	for (int i = 0; i < 2; i++) {
		v[i].uaddr = (uintptr_t)&w[i];
		v[i].flags = U32 | PRIVATE;
	}
	for (int i = 0; i < 3; i++) {
		c[i] = (struct call){ i == 1, U32 | PRIVATE, ALL, -1, 0, w,
				      0,      false };
		th[i] = t_thread(waiter, &c[i]);
	}
	while (moved < 3) {
		long r = syscall(SYS_futex_requeue, v, 0, 0, 3);

		CHECK(r >= 0);
		moved += r;
		sched_yield();
	}
	/* Whom the kernel has woken for nothing waits where it began: __futex_wait(). */
	back = wake2(&w[0], ALL, 9, U32 | PRIVATE);
	CHECK(back == 0 || back == 1);
	CHECK(wake2(&w[1], ALL, 2, U32 | PRIVATE) == 2);
	CHECK(wake2(&w[1], ALL, 9, U32 | PRIVATE) == 1 - back);
	for (int i = 0; i < 3; i++) {
		t_join(th[i]);
		CHECK(c[i].r == 0);
	}
	v[0].val = 7;
	CHECK_ERR(syscall(SYS_futex_requeue, v, 0, 0, 3), EAGAIN);
	CHECK_ERR(syscall(SYS_futex_requeue, v, 1, 0, 3), EINVAL);
	CHECK_ERR(syscall(SYS_futex_requeue, 8ul, 0, 0, 3), EFAULT);
	t_say("three have been moved");
}

static void try_limits(void)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };

	for (unsigned i = 0; i < T_LEN(clocks); i++) {
		struct timespec ts = t_in(clocks[i], 30 * T_MS);
		long long t0 = t_now();

		CHECK_ERR(wait2(&w[0], 0, ALL, U32 | PRIVATE, &ts, clocks[i]),
			  ETIMEDOUT);
		CHECK(t_now() - t0 >= 29 * T_MS);
	}
	t_say("limits end it");
}

static void nothing(int sig)
{
	(void)sig;
}

/* Its limit is absolute: with SA_RESTART it goes on, also where it has one. */
static void *limited(void *arg)
{
	struct call *c = arg;
	struct timespec ts = t_in(CLOCK_MONOTONIC, c->limit);

	c->r = wait2(c->at, 0, ALL, c->flags, &ts, CLOCK_MONOTONIC);
	c->err = errno;
	__atomic_store_n(&c->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void try_signals(uint32_t *at, unsigned kind, const char *what)
{
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		struct sigaction sa = { .sa_handler = nothing,
					.sa_flags = flags };
		struct call c = { false, kind, 0, 0, 0, at, 300 * T_MS, false };
		pthread_t th;

		if (!flags)
			c.limit = 20 * T_SEC; /* which no signal lets it see */
		CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
		th = t_thread(limited, &c);
		while (!__atomic_load_n(&c.done, __ATOMIC_SEQ_CST)) {
			t_settle();
			pthread_kill(th, SIGUSR1);
		}
		t_join(th);
		t_say("%s, %s: %ld %s", what, flags ? "SA_RESTART" : "none",
		      c.r, strerrorname_np(c.err));
	}
}

static void tell(const char *what, long r)
{
	t_say("%s: %ld %s", what, r, r < 0 ? strerrorname_np(errno) : "");
}

static void *try_errors(void *arg)
{
	struct timespec bad = { 0, -1 }, past = { 0, 0 };
	unsigned f = arg ? U32 : U32 | PRIVATE;
	uint32_t *at = arg ? arg : w;

	tell("wake, no mask", wake2(at, 0, 1, f));
	tell("wake, none", wake2(at, ALL, 0, f));
	tell("wake, size", wake2(at, ALL, 1, PRIVATE | 1));
	tell("wake, flags", wake2(at, ALL, 1, f | 0x40));
	tell("wake, mask too wide", wake2(at, ALL + 1, 1, f));
	tell("wake, not aligned", wake2((char *)at + 1, ALL, 1, f));
	tell("wake, nowhere", wake2(NULL, ALL, 1, U32));
	tell("wait, other value", wait2(at, 1, ALL, f, NULL, 0));
	tell("wait, wide value", wait2(at, ALL + 1, ALL, f, NULL, 0));
	tell("wait, no mask", wait2(at, 0, 0, f, NULL, 0));
	tell("wait, size", wait2(at, 0, ALL, PRIVATE, NULL, 0));
	tell("wait, flags", wait2(at, 0, ALL, f | 0x40, NULL, 0));
	tell("wait, nowhere", wait2(NULL, 0, ALL, f, NULL, 0));
	tell("wait, not aligned", wait2((char *)at + 1, 0, ALL, f, NULL, 0));
	tell("wait, bad limit", wait2(at, 1, ALL, f, &bad, CLOCK_MONOTONIC));
	tell("wait, bad clock", wait2(at, 1, ALL, f, &past, CLOCK_BOOTTIME));
	tell("wait, limit nowhere",
	     wait2(at, 1, ALL, f, (void *)8, CLOCK_MONOTONIC));
	tell("wait, past", wait2(at, 0, ALL, f, &past, CLOCK_MONOTONIC));
	tell("wait, past, by the clock",
	     wait2(at, 0, ALL, f, &past, CLOCK_REALTIME));
	return arg;
}

int main(void)
{
	uint32_t *shared;

	if (wake2(&w[0], ALL, 1, U32 | PRIVATE) == -1 && errno == ENOSYS)
		t_skip("the kernel has no futex_wake");
	try_both(U32 | PRIVATE, "private");
	try_both(U32, "not private");
	try_masks();
	try_requeue();
	try_limits();
	try_signals(&w[0], U32 | PRIVATE, "private");
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	try_signals(shared, U32, "shared");
	t_join(t_thread(try_errors, NULL));
	t_join(t_thread(try_errors, shared));
	return 0;
}
