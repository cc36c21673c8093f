/*
 * A thread, then main, has its children in a PID namespace of their own: it can
 * create no thread then, says the kernel; the others can.
 */
#include <sched.h>
#include "t.h"

static int go[2];

static void *waits(void *arg)
{
	t_get(go[0]);
	t_be_threaded();
	return arg;
}

static void *parts(void *arg)
{
	pthread_t th;
	pid_t pid;

	CHECK(unshare(CLONE_NEWPID) == 0);
	CHECK_RC(pthread_create(&th, NULL, t_nothing, NULL), EINVAL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(getpid() != 1);
	t_wait_ok(pid);
	CHECK_RC(pthread_create(&th, NULL, t_nothing, NULL), EINVAL);
	CHECK_ERR(fork(), ENOMEM);
	return arg;
}

int main(void)
{
	pthread_t th;

	if (geteuid() != 0)
		t_skip("only root can unshare");
	t_pipe(go);
	th = t_thread(waits, NULL);
	t_join(t_thread(parts, NULL));
	t_be_threaded();
	parts(NULL);
	t_put(go[1], 'x');
	t_join(th);
	t_say("EINVAL, and ENOMEM when its init has ended");
	return 0;
}
