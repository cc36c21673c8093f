/*
 * Two stand in line for a lock. The number of the second one is closed at the moment at
 * which its turn comes: it gets the lock all the same.
 */
#include "../calls.h"
#include <sys/file.h>

enum { ROUNDS = 20 };

static long locks(void *arg)
{
	int fd = *(int *)arg;

	return flock(fd, LOCK_EX);
}

/* As the first one does when it is served: the second one's turn has come. */
static long locks_and_leaves(void *arg)
{
	int fd = *(int *)arg;
	long r = flock(fd, LOCK_EX);

	return r ? r : flock(fd, LOCK_UN);
}

static void meet(int holder, const char *path, int spins)
{
	int fd[2] = { open(path, O_RDWR), open(path, O_RDWR) };
	struct t_call c[2];

	CHECK(fd[0] >= 0 && fd[1] >= 0);
	CHECK_0(flock(holder, LOCK_EX));
	t_begin(&c[0], locks_and_leaves, &fd[0]);
	t_begin(&c[1], locks, &fd[1]);
	t_waits(&c[0]);
	t_waits(&c[1]);
	CHECK_0(flock(holder, LOCK_UN));
	while (!atomic_load(&c[0].ended) && spins-- > 0)
		sched_yield();
	t_close(fd[1]);
	CHECK(t_end(&c[0]) == 0);
	/* Its lock went with its number, and with the call. */
	CHECK(t_end(&c[1]) == 0);
	t_close(fd[0]);
}

int main(void)
{
	char path[PATH_MAX];
	int holder;

	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	holder = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(holder >= 0);
	for (int i = 0; i < ROUNDS; i++)
		meet(holder, path, i);
	t_say("%d rounds", ROUNDS);
	return 0;
}
