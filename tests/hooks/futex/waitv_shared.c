/*
 * futex_waitv for words that processes share, some of them, or all: mistakes, limits by
 * both clocks, who wakes, a signal.
 *
 * t-case: ends
 * t-case: process
 * t-case: mixed
 * t-case: signals
 * t-case: race
 */
#include "futex.h"

enum { N = 12, ROUNDS = 200 };

static uint32_t *shared, own;
static int ended, handled;

/* For the shared words, and @mine. */
static long waitv(int mine, struct timespec *ts, int clock)
{
	struct futex_waitv v[3];

	memset(v, 0, sizeof(v));
	for (int i = 0; i < 2; i++) {
		v[i].uaddr = (uintptr_t)&shared[i];
		v[i].flags = FUTEX_32;
	}
	v[2].uaddr = (uintptr_t)&own;
	v[2].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
	return syscall(SYS_futex_waitv, v, mine ? 3 : 2, 0, ts, clock);
}

static void *waiter(void *mine)
{
	return (void *)waitv(mine != NULL, NULL, CLOCK_MONOTONIC);
}

static void *ends(void *arg)
{
	for (int mine = 0; mine < 2; mine++) {
		struct timespec at = t_in(CLOCK_MONOTONIC, 20 * T_MS);
		struct timespec real = t_in(CLOCK_REALTIME, 20 * T_MS);
		struct timespec odd = { 0, T_SEC };

		CHECK_ERR(waitv(mine, &at, CLOCK_MONOTONIC), ETIMEDOUT);
		CHECK_ERR(waitv(mine, &real, CLOCK_REALTIME), ETIMEDOUT);
		CHECK_ERR(waitv(mine, &odd, CLOCK_MONOTONIC), EINVAL);
		CHECK_ERR(waitv(mine, &at, CLOCK_BOOTTIME), EINVAL);
		CHECK_ERR(waitv(mine, (void *)16, CLOCK_REALTIME), EFAULT);
		shared[1] = 1;
		CHECK_ERR(waitv(mine, NULL, CLOCK_REALTIME), EAGAIN);
		shared[1] = 0;
	}
	own = 1;
	CHECK_ERR(waitv(1, NULL, CLOCK_REALTIME), EAGAIN);
	t_say("refused, timed out");
	return arg;
}

static void *process(void *arg)
{
	for (int i = 0; i < 2; i++) {
		pthread_t th = t_thread(waiter, NULL);
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			f_wake_n(&shared[i], 1, 0);
			_exit(0);
		}
		t_say("woken by word %d", (int)(intptr_t)t_join(th));
		t_wait_ok(pid);
	}
	return arg;
}

static void *mixed(void *arg)
{
	for (int i = 0; i < 3; i++) {
		pthread_t th[N];

		for (int k = 0; k < N; k++)
			th[k] = t_thread(waiter, &own);
		f_wake_n(i < 2 ? &shared[i] : &own, N,
			 i < 2 ? 0 : FUTEX_PRIVATE_FLAG);
		for (int k = 0; k < N; k++)
			CHECK(t_join(th[k]) == (void *)(intptr_t)i);
		t_say("woken by word %d", i);
	}
	CHECK(futex(&own, FUTEX_WAKE_PRIVATE, N, NULL, NULL, 0) == 0);
	return arg;
}

static void noted(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *interrupted(void *mine)
{
	CHECK_ERR(waitv(mine != NULL, NULL, CLOCK_MONOTONIC), EINTR);
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return mine;
}

static void *signals(void *arg)
{
	pthread_t th;

	for (int mine = 0; mine < 2; mine++) {
		t_handle(SIGUSR1, noted, SA_RESTART);
		th = t_thread(waiter, mine ? &own : NULL);
		handled = 0;
		CHECK(pthread_kill(th, SIGUSR1) == 0);
		while (!__atomic_load_n(&handled, __ATOMIC_SEQ_CST))
			sched_yield();
		f_wake_n(&shared[0], 1, 0);
		CHECK(t_join(th) == NULL);
		t_handle(SIGUSR1, noted, 0);
		th = t_thread(interrupted, mine ? &own : NULL);
		/* The first may come before the wait. */
		while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) <= mine) {
			CHECK(pthread_kill(th, SIGUSR1) == 0);
			t_settle();
		}
		t_join(th);
	}
	t_say("interrupted");
	return arg;
}

static int got;

static void *racer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec at = t_in(CLOCK_REALTIME, 50000);
		long r = waitv(1, &at, CLOCK_REALTIME);

		CHECK(r >= 0 || errno == ETIMEDOUT);
		if (r >= 0)
			__atomic_fetch_add(&got, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* By one word, so that each wake-up is another thread's. */
static void *race(void *arg)
{
	pthread_t th[N];
	long woken = 0;

	for (int i = 0; i < N; i++)
		th[i] = t_thread(racer, NULL);
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < N) {
		woken += futex(&own, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		sched_yield();
	}
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(woken == got);
	t_say("each wake-up was a thread's");
	return arg;
}

static const struct t_case cases[] = {
	{ "ends", ends },	{ "process", process }, { "mixed", mixed },
	{ "signals", signals }, { "race", race },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	t_be_threaded();
	if (waitv(0, (void *)16, CLOCK_MONOTONIC) == -1 && errno == ENOSYS)
		t_skip("the kernel has no futex_waitv");
	t_run_case(cases, T_LEN(cases), argv[1]);
	return 0;
}
