/*
 * PR_SET_PDEATHSIG is one thread's: others have none, nor have those that it creates,
 * and it keeps its own.
 *
 * t-case: first
 * t-case: again
 */
#include "t.h"
#include <sys/prctl.h>

static sem_t told, go;

static int get(void)
{
	int sig = -1;

	CHECK(!prctl(PR_GET_PDEATHSIG, &sig));
	return sig;
}

static void *sets(void *arg)
{
	t_say("thread: %d", get());
	CHECK(!prctl(PR_SET_PDEATHSIG, SIGHUP));
	t_say("thread, its own: %d", get());
	return arg;
}

static void *looks(void *arg)
{
	CHECK_ERR(prctl(PR_GET_PDEATHSIG, (int *)8), EFAULT);
	t_say("thread: %d", get());
	CHECK(!sem_post(&told));
	t_down(&go);
	t_say("thread, after a wait: %d", get());
	t_join(t_thread(sets, NULL));
	t_say("thread, after another's: %d", get());
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;
	pid_t child;

	CHECK(argc == 2);
	CHECK(!sem_init(&told, 0, 0) && !sem_init(&go, 0, 0));
	if (!strcmp(argv[1], "again"))
		t_be_threaded();
	CHECK(!prctl(PR_SET_PDEATHSIG, SIGUSR2));
	th = t_thread(looks, NULL);
	t_down(&told);
	t_say("main: %d", get());
	CHECK_ERR(prctl(PR_GET_PDEATHSIG, (int *)8), EFAULT);
	CHECK(!sem_post(&go));
	t_join(th);
	t_say("main, at the end: %d", get());
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		t_say("child: %d", get());
		_exit(0);
	}
	t_wait_ok(child);
	return 0;
}
