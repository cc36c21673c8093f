/*
 * A thread that may not read the processor's clock (PR_SET_TSC), or has been told
 * that it cannot have that, goes on with all that needs no clock. With "first", for
 * tests/cli/start.sh: main may not, before there is another.
 */
#include <semaphore.h>
#include <sys/prctl.h>
#include "t.h"

enum { TURNS = 200 };

static sem_t there, back;
static int ends[2];

static void *answers(void *arg)
{
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0 || errno == EINVAL);
	for (int i = 0; i < TURNS; i++) {
		CHECK(sem_wait(&there) == 0);
		CHECK(sem_post(&back) == 0);
	}
	CHECK(t_get(ends[0]) == 'x');
	CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;

	if (argc > 1 && !strcmp(argv[1], "first"))
		CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	CHECK(sem_init(&there, 0, 0) == 0 && sem_init(&back, 0, 0) == 0);
	t_pipe(ends);
	th = t_thread(answers, NULL);
	for (int i = 0; i < TURNS; i++) {
		CHECK(sem_post(&there) == 0);
		CHECK(sem_wait(&back) == 0);
	}
	t_put(ends[1], 'x');
	t_join(th);
	t_say("%d turns", TURNS);
	return 0;
}
