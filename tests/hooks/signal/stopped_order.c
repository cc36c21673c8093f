/*
 * Several signals that come while the process is stopped, by itself or another one: their handlers run as the kernel
 * stacks their frames, the last one first.
 */
#include "t.h"

enum { TIMES = 400 };

static const int sigs[] = { SIGHUP, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT };
static volatile char order[32];
static volatile int handled;

static void on_signal(int sig)
{
	for (size_t i = 0; i < T_LEN(sigs); i++)
		if (sigs[i] == sig)
			order[handled++] = "H12TC"[i];
}

static void *waits(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	CHECK(sem_post(arg) == 0);
	for (;;)
		pause();
}

int main(void)
{
	sem_t ready;
	int ends[2];

	t_pipe(ends);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		t_handle(sigs[i], on_signal, SA_RESTART);
	CHECK_0(sem_init(&ready, 0, 0));
	for (int i = 0; i < TIMES; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			t_thread(waits, &ready);
			t_down(&ready);
			if (i % 3)
				raise(SIGSTOP);
			else
				t_put(ends[1], 's');
			while (handled < (int)T_LEN(sigs))
				t_settle();
			t_say("%s", (const char *)order);
			_exit(0);
		}
		if (i % 3 == 0) {
			CHECK(t_get(ends[0]) == 's');
			CHECK_0(kill(pid, SIGSTOP));
		}
		while (waitid(P_PID, (id_t)pid, NULL, WSTOPPED | WNOWAIT))
			CHECK(errno == EINTR);
		for (size_t k = 0; k < T_LEN(sigs); k++)
			CHECK_0(kill(pid, sigs[k]));
		CHECK(t_wait(pid) == 0);
	}
	return 0;
}
