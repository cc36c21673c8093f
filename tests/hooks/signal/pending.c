/* sigpending: of the thread and of the process; order and number. */
#include "t.h"

static volatile int order[16], n;

static void on_sig(int sig)
{
	order[n++] = sig;
}

static void on_rt(int sig, siginfo_t *si, void *ctx)
{
	(void)ctx;
	order[n++] = sig * 100 + si->si_value.sival_int;
}

static sem_t go, told;

static void *thread(void *arg)
{
	sigset_t set;

	CHECK(sem_post(&told) == 0);
	CHECK(sem_wait(&go) == 0);
	CHECK(sigpending(&set) == 0);
	CHECK(sigismember(&set, SIGUSR1) == 1);
	CHECK(sigismember(&set, SIGUSR2) == 1);
	CHECK(sigismember(&set, SIGTERM) == 0);
	return arg;
}

int main(void)
{
	struct sigaction sa;
	sigset_t block, set, old;
	pthread_t th;

	CHECK(sem_init(&go, 0, 0) == 0);
	CHECK(sem_init(&told, 0, 0) == 0);
	/* No handler interrupts another: the order is that of delivery. */
	memset(&sa, 0, sizeof(sa));
	sigfillset(&sa.sa_mask);
	sa.sa_handler = on_sig;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
	sa.sa_sigaction = on_rt;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGRTMIN + 1, &sa, NULL) == 0);
	CHECK(sigaction(SIGRTMIN + 2, &sa, NULL) == 0);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigaddset(&block, SIGUSR2);
	sigaddset(&block, SIGRTMIN + 1);
	sigaddset(&block, SIGRTMIN + 2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &block, &old));
	th = t_thread(thread, NULL);
	CHECK(sem_wait(&told) == 0);
	/* To the process: all see it. To a thread: it alone. */
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK_0(pthread_kill(th, SIGUSR2));
	CHECK(sigpending(&set) == 0);
	CHECK(sigismember(&set, SIGUSR1) == 1);
	CHECK(sigismember(&set, SIGUSR2) == 0);
	CHECK(sem_post(&go) == 0);
	t_join(th);
	CHECK(n == 0);
	t_say("pending in the process and in a thread");
	for (int i = 1; i <= 3; i++) {
		CHECK(sigqueue(getpid(), SIGRTMIN + 2,
			       (union sigval){ .sival_int = i }) == 0);
		CHECK(sigqueue(getpid(), SIGRTMIN + 1,
			       (union sigval){ .sival_int = i }) == 0);
	}
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(n == 7);
	t_say("plain first: %d", order[0] == SIGUSR1);
	for (int i = 1; i < 7; i++)
		t_say("RTMIN+%d value %d", order[i] / 100 - SIGRTMIN,
		      order[i] % 100);
	return 0;
}
