/*
 * Signals that a call has caused, or made the last of, have been delivered when
 * it returns: a timer that is stopped, a child that was waited for, a handler
 * that is replaced.
 */
#include "t.h"

static volatile sig_atomic_t hits;

static void on_signal(int sig)
{
	(void)sig;
	hits++;
}

static void work(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

/* A late SIGALRM would end the process. */
static void itimers(void)
{
	struct itimerval every = { { 0, 50 }, { 0, 50 } },
			 never = { { 0, 0 }, { 0, 0 } };

	for (int i = 0; i < 300; i++) {
		int then;

		t_handle(SIGALRM, on_signal, 0);
		CHECK(!setitimer(ITIMER_REAL, &every, NULL));
		work();
		CHECK(!setitimer(ITIMER_REAL, &never, NULL));
		then = hits;
		CHECK(signal(SIGALRM, SIG_DFL) == on_signal);
		getppid();
		work();
		CHECK(hits == then);
	}
}

static void timers(void)
{
	struct itimerspec every = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGRTMIN + 1 };
	timer_t id;

	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &id));
	for (int i = 0; i < 300; i++) {
		int then;

		t_handle(SIGRTMIN + 1, on_signal, 0);
		CHECK(!timer_settime(id, 0, &every, NULL));
		work();
		CHECK(!timer_settime(id, 0, &never, NULL));
		then = hits;
		CHECK(signal(SIGRTMIN + 1, SIG_DFL) == on_signal);
		work();
		CHECK(hits == then);
	}
	CHECK(!timer_delete(id));
}

/* The handler goes while the timer still runs; ignored from then on. */
static void replaced(void)
{
	struct itimerval every = { { 0, 50 }, { 0, 50 } },
			 never = { { 0, 0 }, { 0, 0 } };

	for (int i = 0; i < 300; i++) {
		int then;

		t_handle(SIGALRM, on_signal, 0);
		CHECK(!setitimer(ITIMER_REAL, &every, NULL));
		work();
		CHECK(signal(SIGALRM, SIG_IGN) == on_signal);
		then = hits;
		work();
		CHECK(hits == then);
		CHECK(!setitimer(ITIMER_REAL, &never, NULL));
	}
}

static void children(void)
{
	t_handle(SIGCHLD, on_signal, 0);
	for (int i = 0; i < 100; i++) {
		int then = hits, st;
		siginfo_t si;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(i & 1);
		if (i & 2)
			CHECK(waitpid(pid, &st, 0) == pid);
		else
			CHECK(!waitid(P_PID, (id_t)pid, &si, WEXITED));
		CHECK(hits == then + 1);
	}
	CHECK_ERR(waitid(P_ALL, 0, (void *)0xca, WEXITED), EFAULT);
}

int main(void)
{
	t_be_threaded();
	itimers();
	t_say("interval timers");
	timers();
	t_say("timers");
	replaced();
	t_say("replaced handlers");
	children();
	t_say("children");
	return 0;
}
