/*
 * A thread that computes until another one says so, again and again: whoever it has
 * woken goes on beside it, though there may be one worker alone. How often it was held
 * up, tests/cli/look.sh counts.
 */
#include "t.h"
#include <stdatomic.h>

enum { ROUNDS = 3000 };

static sem_t go, begun, done;
static atomic_int quit;

static void *spins(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(sem_wait(&go) == 0);
		CHECK(sem_post(&begun) == 0);
		while (!atomic_load_explicit(&quit, memory_order_acquire))
			;
		CHECK(sem_post(&done) == 0);
	}
	return arg;
}

int main(void)
{
	pthread_t th;

	CHECK(!sem_init(&go, 0, 0) && !sem_init(&begun, 0, 0) &&
	      !sem_init(&done, 0, 0));
	th = t_thread(spins, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&quit, 0);
		CHECK(sem_post(&go) == 0);
		CHECK(sem_wait(&begun) == 0);
		atomic_store(&quit, 1);
		CHECK(sem_wait(&done) == 0);
	}
	t_join(th);
	t_say("%d times", ROUNDS);
	return 0;
}
