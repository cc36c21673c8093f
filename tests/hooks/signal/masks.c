/* Signal masks belong to threads, are inherited, and decide who is asked. */
#include "t.h"

static volatile int hits[3];
static __thread int id;
static sem_t ready;

static void on_sig(int sig)
{
	(void)sig;
	hits[id]++;
}

static int blocks(int sig)
{
	sigset_t now;

	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	return sigismember(&now, sig);
}

static void *inherits(void *arg)
{
	sigset_t set;

	CHECK(blocks(SIGUSR1) == 1);
	CHECK(blocks(SIGUSR2) == 0);
	CHECK(blocks(SIGTERM) == 0);
	sigfillset(&set);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(blocks(SIGTERM) == 1);
	CHECK(blocks(SIGKILL) == 0);
	CHECK(blocks(SIGSTOP) == 0);
	sched_yield();
	CHECK(blocks(SIGUSR2) == 1);
	return arg;
}

/* The only thread that does not block SIGUSR1: it gets all of them. */
static void *open_one(void *arg)
{
	sigset_t set;

	id = 1;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK(sem_post(&ready) == 0);
	while (hits[1] < 10)
		CHECK_ERR(read(*(int *)arg, &set, 1), EINTR);
	return NULL;
}

int main(void)
{
	sigset_t set, old;
	pthread_t th;
	int p[2];

	CHECK(sem_init(&ready, 0, 0) == 0);
	t_pipe(p);
	t_handle(SIGUSR1, on_sig, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	CHECK(sigismember(&old, SIGUSR1) == 0);
	for (int i = 0; i < 5; i++)
		t_join(t_thread(inherits, NULL));
	CHECK(blocks(SIGTERM) == 0);
	CHECK(blocks(SIGUSR1) == 1);
	t_say("inherited and separate");
	th = t_thread(open_one, &p[0]);
	CHECK(sem_wait(&ready) == 0);
	while (pthread_tryjoin_np(th, NULL) == EBUSY) {
		CHECK(kill(getpid(), SIGUSR1) == 0);
		t_settle();
	}
	CHECK(hits[0] == 0);
	CHECK(hits[1] >= 10);
	/* One that nobody took may be pending: main takes it now. */
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(hits[0] <= 1);
	t_say("delivered to the one that does not block it");
	CHECK_RC(pthread_sigmask(12345, &set, NULL), EINVAL);
	CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0);
	CHECK(blocks(SIGUSR1) == 1);
	return 0;
}
