/*
 * Which thread has the SIGCHLD of a child: the one that has made it, if it does not
 * block it; main, if that one has ended. Nobody else's call ends by it.
 */
#include "../calls.h"
#include <sys/wait.h>

enum { TIMES = 20 };

static __thread int own;
static _Atomic int who;
static sem_t came;
static int hold[2];

static void on_child(int sig)
{
	(void)sig;
	who = own;
	sem_post(&came);
}

static int handled_by(void)
{
	t_down(&came);
	return who;
}

static pid_t forked(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(t_get(hold[0]));
	return pid;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) != pid)
		CHECK(errno == EINTR);
}

static void *makes(void *arg)
{
	own = (int)(intptr_t)arg;
	for (int i = 0; i < TIMES; i++) {
		pid_t pid = forked();

		t_put(hold[1], 'x');
		CHECK(handled_by() == own);
		reap(pid);
	}
	return NULL;
}

static void *makes_one(void *arg)
{
	own = 3;
	*(pid_t *)arg = forked();
	return NULL;
}

static sem_t made;

static void *makes_and_stays(void *arg)
{
	own = 4;
	*(pid_t *)arg = forked();
	CHECK(sem_post(&made) == 0);
	CHECK(t_get(hold[0]) == 'z');
	return NULL;
}

static long get(void *arg)
{
	char b;

	own = 5;
	return read(*(int *)arg, &b, 1);
}

int main(void)
{
	struct t_call reads;
	pthread_t th;
	int other[2];
	pid_t pid;

	CHECK(sem_init(&came, 0, 0) == 0 && sem_init(&made, 0, 0) == 0);
	t_pipe(hold);
	t_pipe(other);
	t_handle(SIGCHLD, on_child, 0);
	t_begin(&reads, get, &other[0]);
	makes(NULL);
	t_join(t_thread(makes, (void *)1));
	t_join(t_thread(makes, (void *)2));
	t_say("its maker");

	t_join(t_thread(makes_one, &pid));
	t_put(hold[1], 'x');
	t_say("whose maker has ended: %d", handled_by());
	reap(pid);

	th = t_thread(makes_and_stays, &pid);
	t_down(&made);
	t_waits(&reads);
	CHECK(kill(pid, SIGSTOP) == 0);
	t_say("stopped: %d", handled_by());
	t_pause(); /* it has left its handler */
	CHECK(kill(pid, SIGCONT) == 0);
	t_say("continued: %d", handled_by());
	t_pause();
	CHECK(kill(pid, SIGKILL) == 0);
	t_say("killed: %d", handled_by());
	reap(pid);
	t_put(hold[1], 'z');
	t_join(th);

	t_waits(&reads);
	t_put(other[1], 'r');
	t_ended("who reads", &reads);
	return 0;
}
