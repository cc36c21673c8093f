/* pthread_sigqueue and sigqueue: values reach the thread meant. */
#include "t.h"

enum { N = 5 };

static __thread int sum;
static sem_t ready;

static void on_rt(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	CHECK(si->si_code == SI_QUEUE);
	CHECK(si->si_pid == getpid());
	sum += si->si_value.sival_int;
}

static void *work(void *arg)
{
	sigset_t set, old;
	int want = (int)(intptr_t)arg * 30;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 5);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	CHECK(sem_post(&ready) == 0);
	while (sum < want)
		CHECK_ERR(sigsuspend(&old), EINTR);
	CHECK(sum == want);
	return NULL;
}

int main(void)
{
	struct sigaction sa;
	pthread_t th[N];

	CHECK(sem_init(&ready, 0, 0) == 0);
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_rt;
	sa.sa_flags = SA_SIGINFO;
	CHECK(sigaction(SIGRTMIN + 5, &sa, NULL) == 0);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)(i + 1));
	for (int i = 0; i < N; i++)
		CHECK(sem_wait(&ready) == 0);
	for (int k = 0; k < 30; k++)
		for (int i = 0; i < N; i++)
			CHECK_0(pthread_sigqueue(
				th[i], SIGRTMIN + 5,
				(union sigval){ .sival_int = i + 1 }));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d threads, 30 values each", N);
	return 0;
}
