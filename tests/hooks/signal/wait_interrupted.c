/*
 * A child's SIGCHLD does not end the wait for that child, whose end came first;
 * nor does a signal whose handler has SA_RESTART, though the two come together.
 */
#include "t.h"

enum { CHILDREN = 300 };

static volatile sig_atomic_t hits, others;
static volatile int turn;
static pthread_t waiter;

static void on_child(int sig)
{
	(void)sig;
	hits++;
}

static void on_other(int sig)
{
	(void)sig;
	others++;
}

/* One signal for each child. */
static void *disturb(void *arg)
{
	for (int seen = 0; seen < CHILDREN; sched_yield()) {
		if (turn == seen)
			continue;
		seen = turn;
		CHECK_0(pthread_kill(waiter, SIGUSR1));
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	waiter = pthread_self();
	/* SIGUSR1 has the lower number: if both are there, it decides. */
	t_handle(SIGUSR1, on_other, SA_RESTART);
	t_handle(SIGCHLD, on_child, 0);
	t = t_thread(disturb, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		siginfo_t si;
		pid_t pid;
		int st;

		turn++;
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			/* at each moment of the wait in turn */
			usleep((useconds_t)i * 2);
			_exit(i & 1);
		}
		if (i & 2)
			CHECK(waitpid(pid, &st, 0) == pid);
		else
			CHECK(!waitid(P_PID, (id_t)pid, &si, WEXITED));
	}
	t_join(t);
	CHECK(hits > 0 && others > 0);
	t_say("%d children", CHILDREN);
	return 0;
}
