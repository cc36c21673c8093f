/*
 * FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI: a condition variable whose
 * mutex is a PI one. Who returns owns the mutex; and what is refused.
 */
#include "../calls.h"
#include "futex.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#define PRIV	FUTEX_PRIVATE_FLAG
#define WAITERS 6

/* Linux 6.7 */
#define SYS_FUTEX_WAKE	  454
#define SYS_FUTEX_REQUEUE 456
#define NEW_FLAGS	  (2 /* of 32 bits */ | FUTEX_PRIVATE_FLAG)

static _Atomic uint32_t cond, mutex, other;
static _Atomic int waiting, inside, got;

static void lock(void)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&mutex, &none, (uint32_t)gettid()))
		CHECK_0(futex(&mutex, FUTEX_LOCK_PI | PRIV, 0, NULL, NULL, 0));
}

static void unlock(void)
{
	uint32_t own = (uint32_t)gettid();

	if (!atomic_compare_exchange_strong(&mutex, &own, 0))
		CHECK_0(futex(&mutex, FUTEX_UNLOCK_PI | PRIV, 0, NULL, NULL,
			      0));
}

static void *waiter(void *arg)
{
	(void)arg;
	lock();
	waiting++;
	unlock();
	CHECK_0(futex(&cond, FUTEX_WAIT_REQUEUE_PI | PRIV, 0, NULL, &mutex, 0));
	CHECK((mutex & FUTEX_TID_MASK) == (uint32_t)gettid());
	CHECK(++inside == 1);
	got++;
	CHECK(--inside == 0);
	unlock();
	return NULL;
}

/* Move @n of those who wait for the condition, and wait until all @n were. */
static void move(int n)
{
	while (n) {
		long r = futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1,
			       (void *)(long)(n - 1), &mutex, 0);

		CHECK(r >= 0 && r <= n);
		n -= (int)r;
		if (n)
			sched_yield();
	}
}

static void broadcast(bool held)
{
	pthread_t th[WAITERS];

	waiting = got = 0;
	for (int i = 0; i < WAITERS; i++)
		th[i] = t_thread(waiter, NULL);
	while (waiting < WAITERS)
		sched_yield();
	if (held)
		lock();
	/* All at once, or none is moved while another one is not there yet. */
	move(WAITERS);
	if (held) {
		CHECK(got == 0);
		unlock();
	}
	for (int i = 0; i < WAITERS; i++)
		t_join(th[i]);
	t_say("%s: %d had it", held ? "held" : "free", got);
}

static void *timed(void *arg)
{
	struct timespec ts = t_in(CLOCK_MONOTONIC, 30 * T_MS);

	(void)arg;
	CHECK_ERR(futex(&cond, FUTEX_WAIT_REQUEUE_PI | PRIV, 0, &ts, &mutex, 0),
		  ETIMEDOUT);
	return NULL;
}

static void *plain(void *arg)
{
	(void)arg;
	waiting++;
	f_wait_while((uint32_t *)&cond, 0, PRIV);
	return NULL;
}

/* While one waits to be moved. Who is to wake and move nobody does not look. */
static void no_other_calls(void)
{
	struct futex_waitv v[2] = { { 0, (uintptr_t)&cond, NEW_FLAGS, 0 },
				    { 0, (uintptr_t)&other, NEW_FLAGS, 0 } };

	CHECK_0(futex((void *)&cond, FUTEX_REQUEUE | PRIV, 0, NULL, &other, 0));
	CHECK_0(futex((void *)&cond, FUTEX_CMP_REQUEUE | PRIV, 0, NULL, &other,
		      0));
	CHECK_ERR(futex((void *)&cond, FUTEX_REQUEUE | PRIV, 0, (void *)1,
			&other, 0),
		  EINVAL);
	T_RESULT("futex_wake",
		 syscall(SYS_FUTEX_WAKE, &cond, ~0u, 1, NEW_FLAGS));
	T_RESULT("futex_requeue", syscall(SYS_FUTEX_REQUEUE, v, 0, 0, 1));
	T_RESULT("of nobody", syscall(SYS_FUTEX_REQUEUE, v, 0, 0, 0));
}

static void refusals(void)
{
	pthread_t th;
	long r;

	CHECK_ERR(futex(&cond, FUTEX_WAIT_REQUEUE_PI | PRIV, 0, NULL, &cond, 0),
		  EINVAL);
	CHECK_ERR(
		futex(&cond, FUTEX_WAIT_REQUEUE_PI | PRIV, 1, NULL, &mutex, 0),
		EAGAIN);
	CHECK_ERR(futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 2, (void *)1,
			&mutex, 0),
		  EINVAL);
	CHECK_ERR(futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1, (void *)1, &cond,
			0),
		  EINVAL);
	CHECK_ERR(futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1, (void *)1,
			&mutex, 7),
		  EAGAIN);
	CHECK_0(futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1, (void *)1, &mutex,
		      0));
	/* One that waits for nothing more than the word cannot be moved. */
	waiting = 0;
	th = t_thread(plain, NULL);
	do {
		r = futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1, (void *)1,
			  &mutex, 0);
	} while (r == 0);
	CHECK(r < 0 && errno == EINVAL);
	cond = 1;
	f_wake_n((uint32_t *)&cond, 1, PRIV);
	t_join(th);
	cond = 0;
	/* One that is to be moved cannot be woken. */
	waiting = 0;
	th = t_thread(waiter, NULL);
	while (!waiting)
		sched_yield();
	do {
		r = futex(&cond, FUTEX_WAKE | PRIV, 1, NULL, NULL, 0);
	} while (r == 0);
	CHECK(r < 0 && errno == EINVAL);
	no_other_calls();
	move(1);
	t_join(th);
	t_say("refusals as they should be");
}

static void *next_owner(void *arg)
{
	lock();
	t_say("handed on: %x", mutex & ~FUTEX_TID_MASK);
	unlock();
	return arg;
}

static void handed_on(void)
{
	pthread_t th;

	lock();
	th = t_thread(next_owner, NULL);
	while (!(mutex & FUTEX_WAITERS))
		sched_yield();
	unlock();
	t_join(th);
}

int main(void)
{
	broadcast(true);
	broadcast(false);
	t_join(t_thread(timed, NULL));
	t_say("timed out");
	refusals();
	handed_on();
	return 0;
}
