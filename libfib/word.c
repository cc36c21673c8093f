/*
 * Waiting for a word of memory; mutex and semaphore on top of it.
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
#include "runtime/futex.h"
#include "libfib/lib.h"

static _Atomic uint32_t outside;

long fib_thread_wait(const void *word, uint32_t val, uint64_t deadline_ns)
{
	struct timespec ts = fib_timespec(deadline_ns);

	return fib_raw(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, val,
		       deadline_ns == FIB_NEVER ? NULL : &ts, 0,
		       FUTEX_BITSET_MATCH_ANY);
}

static int wait_in_kernel(uint32_t *word, uint32_t val, uint64_t deadline_ns)
{
	long r;

	fib_add(&outside, 1, seq_cst);
	r = fib_thread_wait(word, val, deadline_ns);
	fib_sub(&outside, 1, relaxed);
	return r == -EINTR ? 0 : (int)r;
}

int fib_word_wait(uint32_t *word, uint32_t val, uint64_t deadline_ns)
{
	struct fib *me = fib_shield();
	int r;

	if (!me)
		return wait_in_kernel(word, val, deadline_ns);
	r = fib_futex_wait(word, val, FIB_FUTEX_ANY, deadline_ns);
	fib_unshield(me);
	return r;
}

int fib_word_wait_or_cancel(uint32_t *word, uint32_t val, uint64_t deadline_ns)
{
	int r;

	if (!fib_self())
		return wait_in_kernel(word, val, deadline_ns);
	r = fib_futex_wait(word, val, FIB_FUTEX_ANY, deadline_ns);
	return r == -EINTR ? -ECANCELED : r;
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
	return fib_cas(fib_shared(word), &was, is, acquire);
}

void fib_mutex_init(struct fib_mutex *m)
{
	if (m)
		*m = (struct fib_mutex)FIB_MUTEX_INIT;
}

/* Inlined, so that a backtrace has the function that was called. */
static inline __attribute__((always_inline)) int
lock_within(struct fib_mutex *m, uint64_t timeout_ns)
{
	uint64_t me = self_id(), deadline;
	int r;

	if (!m)
		return -EINVAL;
	if (!swap(&m->word, 0, 1)) {
		if (fib_load(fib_shared(&m->owner), relaxed) == me)
			return -EDEADLK;
		if (!timeout_ns)
			return -ETIMEDOUT;
		deadline = fib_deadline(timeout_ns);
		while (fib_xchg(fib_shared(&m->word), 2, acquire)) {
			r = fib_word_wait(&m->word, 2, deadline);
			if (r == -ETIMEDOUT || r == -ENOMEM)
				return r;
		}
	}
	fib_store(fib_shared(&m->owner), me, relaxed);
	return 0;
}

int fib_mutex_timedlock(struct fib_mutex *m, uint64_t timeout_ns)
{
	return lock_within(m, timeout_ns);
}

int fib_mutex_lock(struct fib_mutex *m)
{
	return lock_within(m, FIB_NEVER);
}

int fib_mutex_trylock(struct fib_mutex *m)
{
	if (!m)
		return -EINVAL;
	if (!swap(&m->word, 0, 1))
		return -EBUSY;
	fib_store(fib_shared(&m->owner), self_id(), relaxed);
	return 0;
}

int fib_mutex_unlock(struct fib_mutex *m)
{
	if (!m)
		return -EINVAL;
	if (fib_load(fib_shared(&m->owner), relaxed) != self_id())
		return -EPERM;
	fib_store(fib_shared(&m->owner), 0, relaxed);
	if (fib_xchg(fib_shared(&m->word), 0, release) == 2)
		fib_word_wake(&m->word, 1);
	return 0;
}

/* --- semaphore --------------------------------------------------------------- */

void fib_sem_init(struct fib_sem *sem, uint32_t value)
{
	if (sem)
		*sem = (struct fib_sem)FIB_SEM_INIT(value);
}

static bool take(struct fib_sem *sem)
{
	uint32_t v = fib_load(fib_shared(&sem->value), relaxed);

	while (v)
		if (fib_cas(fib_shared(&sem->value), &v, v - 1, acquire))
			return true;
	return false;
}

int fib_sem_wait(struct fib_sem *sem, uint64_t timeout_ns)
{
	uint64_t deadline;
	int r = 0;

	if (!sem)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	if (take(sem))
		return 0;
	if (!timeout_ns)
		return -ETIMEDOUT;
	deadline = fib_deadline(timeout_ns);
	fib_add(fib_shared(&sem->waiters), 1, seq_cst);
	while (!take(sem)) {
		r = fib_word_wait_or_cancel(&sem->value, 0, deadline);
		if (r && r != -EAGAIN) {
			r = take(sem) ? 0 : r;
			break;
		}
		r = 0;
	}
	fib_sub(fib_shared(&sem->waiters), 1, relaxed);
	return r;
}

int fib_sem_post(struct fib_sem *sem)
{
	uint32_t v;

	if (!sem)
		return -EINVAL;
	v = fib_load(fib_shared(&sem->value), relaxed);
	do {
		if (v == UINT32_MAX)
			return -EOVERFLOW;
	} while (!fib_cas(fib_shared(&sem->value), &v, v + 1, seq_cst));
	/*
	 * The semaphore may be gone once a waiter has it: a wake-up that finds
	 * nobody at the address is harmless.
	 */
	if (fib_load(fib_shared(&sem->waiters), seq_cst))
		fib_word_wake(&sem->value, 1);
	return 0;
}
