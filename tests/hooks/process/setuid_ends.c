/*
 * setuid and its kin while threads come and go: some end that had changed what
 * a kernel thread has of its own, some are in an exec that fails, or in vfork.
 * The call returns, and each thread that is there then has the new identity.
 */
#include <stdatomic.h>
#include <sys/resource.h>
#include "t.h"

enum { ROUNDS = 60, MAKERS = 3 };

static atomic_int over;
static uid_t ids[2]; /* effective, by turns */
static int nice_level; /* no less than what it has already */

static void *nicer(void *arg)
{
	uid_t now;

	CHECK(setpriority(PRIO_PROCESS, 0, nice_level) == 0);
	now = geteuid();
	CHECK(now == ids[0] || now == ids[1]);
	return arg;
}

static void *makes(void *arg)
{
	while (!over)
		t_join(t_thread(nicer, arg));
	return NULL;
}

static void *execs(void *arg)
{
	char *argv[] = { "x", NULL };

	while (!over)
		CHECK_ERR(execv("/nonexistent", argv), ENOENT);
	return arg;
}

static void *forks(void *arg)
{
	while (!over) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		CHECK(pid > 0);
		t_wait(pid);
	}
	return arg;
}

int main(void)
{
	pthread_t t[MAKERS + 2];

	nice_level = getpriority(PRIO_PROCESS, 0);
	nice_level = nice_level > 3 ? nice_level : 3;
	ids[0] = ids[1] = geteuid();
	if (ids[0] == 0)
		ids[1] = 65534;
	for (int i = 0; i < MAKERS; i++)
		t[i] = t_thread(makes, NULL);
	t[MAKERS] = t_thread(execs, NULL);
	t[MAKERS + 1] = t_thread(forks, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t late = t_thread(nicer, NULL);

		CHECK(setresuid(-1, ids[~i & 1], -1) == 0);
		CHECK(geteuid() == ids[~i & 1]);
		t_join(late);
	}
	over = 1;
	for (size_t i = 0; i < T_LEN(t); i++)
		t_join(t[i]);
	t_say("%d changes", ROUNDS);
	return 0;
}
