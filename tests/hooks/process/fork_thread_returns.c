/*
 * The child of a thread's fork returns from the thread function: it was the
 * last thread, so the child exits with status 0, running atexit handlers.
 */
#include "t.h"

static void at_exit(void)
{
	t_say("atexit in the %s", getenv("T_WHO"));
}

static void *forker(void *arg)
{
	pid_t *pid = arg;

	*pid = fork();
	CHECK(*pid >= 0);
	if (*pid == 0)
		CHECK(setenv("T_WHO", "child", 1) == 0);
	return NULL;
}

int main(void)
{
	pid_t pid;

	CHECK(setenv("T_WHO", "parent", 1) == 0);
	CHECK(atexit(at_exit) == 0);
	t_join(t_thread(forker, &pid));
	t_wait_ok(pid);
	t_say("child exited with 0");
	return 0;
}
