/* The lock where it is contended, see lock.h. */
#include <linux/futex.h>
#include <time.h>
#include "runtime/base.h"

/* The mutex of U. Drepper, "Futexes are tricky", with a short spin first. */
void fib_lock_slow(_Atomic int *word)
{
	unsigned turns = 0;

	for (int i = 0; i < 100; i++) {
		if (fib_load(word, relaxed) == 0 && fib_word_trylock(word))
			return;
		fib_cpu_relax();
	}
	while (fib_xchg(word, 2, acquire) != 0) {
		struct timespec ts = { 0, FIB_LATE_NS };

		if (fib_raw(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, &ts) ==
		    -ETIMEDOUT)
			fib_host_late(++turns);
	}
	if (fib_unlikely(turns))
		fib_host_late(0);
}

bool fib_lock_within(struct fib_lock *l, unsigned ms)
{
	struct timespec ts = { 0, 1000000 };

	for (; !fib_trylock(l); ms--) {
		if (!ms)
			return false;
		fib_raw(SYS_nanosleep, &ts, 0);
	}
	return true;
}

void fib_unlock_slow(_Atomic int *word)
{
	fib_raw(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
}
