/*
 * Waiting for a word of memory; mutex, condition and semaphore on top of it.
 *
 * A fiber waits in the table of futex.c, as hooked programs do. A thread waits
 * in the kernel, on the same word, and counts itself in outside first: so who
 * wakes knows whether the kernel must be asked too.
 *
 *	waiter (thread)			waker
 *	---------------			-----
 *	outside++		(A)	change *word
 *	futex: *word == val?		outside != 0: futex wake	(B)
 *
 * (A) and (B) have a full fence after and before them, and the kernel compares
 * under its lock: one of the two sees the other.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <time.h>
#include "runtime/futex.h"
#include "runtime/lib/lib.h"

#define ANY_BIT 0xffffffffu

static _Atomic uint32_t outside;

static int wait_in_kernel(uint32_t *word, uint32_t val, uint64_t deadline_ns)
{
	struct timespec ts = { (time_t)(deadline_ns / FIB_NSEC_PER_SEC),
			       (long)(deadline_ns % FIB_NSEC_PER_SEC) };
	long r;

	fib_add(&outside, 1, seq_cst);
	r = fib_raw(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, val,
		    deadline_ns == FIB_NEVER ? NULL : &ts, 0, ANY_BIT);
	fib_sub(&outside, 1, relaxed);
	return r == -EINTR ? 0 : (int)r;
}

int fib_word_wait(uint32_t *word, uint32_t val, uint64_t deadline_ns)
{
	if (!fib_self())
		return wait_in_kernel(word, val, deadline_ns);
	return fib_futex_wait(word, val, FIB_FUTEX_ANY, deadline_ns);
}

void fib_word_wake(uint32_t *word, int n)
{
	n -= fib_futex_wake(word, n, FIB_FUTEX_ANY);
	if (n > 0 && fib_load(&outside, seq_cst))
		fib_raw(SYS_futex, word, FUTEX_WAKE_PRIVATE, n);
}

/* --- mutex: U. Drepper, "Futexes are tricky", and an owner ------------------ */

/* Who the caller is: the fiber, else the thread. Never 0. */
static uint64_t self_id(void)
{
	struct fib *f = fib_self();

	return f ? (uint64_t)(uintptr_t)f : (uint64_t)pthread_self();
}

static bool swap(uint32_t *word, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(word, &was, is, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void fib_mutex_init(struct fib_mutex *m)
{
	*m = (struct fib_mutex)FIB_MUTEX_INIT;
}

int fib_mutex_timedlock(struct fib_mutex *m, uint64_t timeout_ns)
{
	uint64_t me = self_id(), deadline;

	if (!m)
		return -EINVAL;
	if (!swap(&m->word, 0, 1)) {
		if (__atomic_load_n(&m->owner, __ATOMIC_RELAXED) == me)
			return -EDEADLK;
		deadline = fib_deadline(timeout_ns);
		while (__atomic_exchange_n(&m->word, 2, __ATOMIC_ACQUIRE)) {
			if (!timeout_ns ||
			    fib_word_wait(&m->word, 2, deadline) == -ETIMEDOUT)
				return timeout_ns ? -ETIMEDOUT : -EBUSY;
		}
	}
	__atomic_store_n(&m->owner, me, __ATOMIC_RELAXED);
	return 0;
}

int fib_mutex_lock(struct fib_mutex *m)
{
	return fib_mutex_timedlock(m, FIB_NEVER);
}

int fib_mutex_trylock(struct fib_mutex *m)
{
	if (!m)
		return -EINVAL;
	if (!swap(&m->word, 0, 1))
		return -EBUSY;
	__atomic_store_n(&m->owner, self_id(), __ATOMIC_RELAXED);
	return 0;
}

int fib_mutex_unlock(struct fib_mutex *m)
{
	if (!m)
		return -EINVAL;
	if (__atomic_load_n(&m->owner, __ATOMIC_RELAXED) != self_id())
		return -EPERM;
	__atomic_store_n(&m->owner, 0, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&m->word, 0, __ATOMIC_RELEASE) == 2)
		fib_word_wake(&m->word, 1);
	return 0;
}

/* --- condition -------------------------------------------------------------- */

void fib_cond_init(struct fib_cond *c)
{
	*c = (struct fib_cond)FIB_COND_INIT;
}

/*
 * seq is read under the mutex, and each signal changes it: a signal that comes
 * after the mutex was given back finds the waiter, or the word has changed.
 */
int fib_cond_wait(struct fib_cond *c, struct fib_mutex *m, uint64_t timeout_ns)
{
	uint32_t seq;
	int r;

	if (!c || !m)
		return -EINVAL;
	seq = __atomic_load_n(&c->seq, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->waiters, 1, __ATOMIC_SEQ_CST);
	r = fib_mutex_unlock(m);
	if (r == 0) {
		r = fib_word_wait(&c->seq, seq, fib_deadline(timeout_ns));
		fib_mutex_lock(m);
	}
	__atomic_fetch_sub(&c->waiters, 1, __ATOMIC_RELAXED);
	return r == -EAGAIN ? 0 : r;
}

static int signal_some(struct fib_cond *c, int n)
{
	if (!c)
		return -EINVAL;
	__atomic_fetch_add(&c->seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&c->waiters, __ATOMIC_SEQ_CST))
		fib_word_wake(&c->seq, n);
	return 0;
}

int fib_cond_signal(struct fib_cond *c)
{
	return signal_some(c, 1);
}

int fib_cond_broadcast(struct fib_cond *c)
{
	return signal_some(c, INT_MAX);
}

/* --- semaphore --------------------------------------------------------------- */

void fib_sem_init(struct fib_sem *sem, uint32_t value)
{
	sem->value = value;
	sem->waiters = 0;
}

static bool take(struct fib_sem *sem)
{
	uint32_t v = __atomic_load_n(&sem->value, __ATOMIC_RELAXED);

	while (v)
		if (__atomic_compare_exchange_n(&sem->value, &v, v - 1, true,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

int fib_sem_wait(struct fib_sem *sem, uint64_t timeout_ns)
{
	uint64_t deadline;
	int r = 0;

	if (!sem)
		return -EINVAL;
	if (take(sem))
		return 0;
	if (!timeout_ns)
		return -ETIMEDOUT;
	deadline = fib_deadline(timeout_ns);
	__atomic_fetch_add(&sem->waiters, 1, __ATOMIC_SEQ_CST);
	while (!take(sem)) {
		r = fib_word_wait(&sem->value, 0, deadline);
		if (r == -ETIMEDOUT) {
			r = take(sem) ? 0 : -ETIMEDOUT;
			break;
		}
		r = 0;
	}
	__atomic_fetch_sub(&sem->waiters, 1, __ATOMIC_RELAXED);
	return r;
}

int fib_sem_post(struct fib_sem *sem)
{
	uint32_t v;

	if (!sem)
		return -EINVAL;
	v = __atomic_load_n(&sem->value, __ATOMIC_RELAXED);
	do {
		if (v == UINT32_MAX)
			return -EOVERFLOW;
	} while (!__atomic_compare_exchange_n(&sem->value, &v, v + 1, true,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	/*
	 * The semaphore may be gone once a waiter has it: a wake-up that finds
	 * nobody at the address is harmless.
	 */
	if (__atomic_load_n(&sem->waiters, __ATOMIC_SEQ_CST))
		fib_word_wake(&sem->value, 1);
	return 0;
}
