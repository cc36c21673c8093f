/*
 * Two signals of the process pend. A thread opens its mask for both, and gets the first,
 * whose handler's mask closes the second and waits until that has been handled; another
 * thread opens its mask for that one at the same time. What pends for the process is
 * anybody's until it is handled: the other one has it before its call returns.
 */
#include "t.h"

enum { ROUNDS = 2000 };

static pthread_barrier_t together;
static sigset_t both, second;
static sem_t handled;

static void on_first(int sig)
{
	(void)sig;
	t_down(&handled);
}

static void on_second(int sig)
{
	(void)sig;
	CHECK(sem_post(&handled) == 0);
}

static void *opens(void *set)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, set, NULL));
		CHECK_0(pthread_sigmask(SIG_BLOCK, set, NULL));
		pthread_barrier_wait(&together);
	}
	return set;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_first };
	pthread_t a, b;

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigemptyset(&second);
	sigaddset(&second, SIGUSR2);
	sa.sa_mask = second;
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	t_handle(SIGUSR2, on_second, 0);
	CHECK(sem_init(&handled, 0, 0) == 0);
	CHECK_0(pthread_barrier_init(&together, NULL, 3));
	a = t_thread(opens, &both);
	b = t_thread(opens, &second);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(kill(getpid(), SIGUSR1) == 0);
		CHECK(kill(getpid(), SIGUSR2) == 0);
		pthread_barrier_wait(&together);
		pthread_barrier_wait(&together);
	}
	t_join(a);
	t_join(b);
	CHECK(sem_trywait(&handled) != 0);
	t_say("each was handled");
	return 0;
}
