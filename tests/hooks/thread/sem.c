/* Semaphores: counting, try, timed on both clocks, named, interrupted. */
#include "t.h"
#include "poke.h"

enum { N = 10, TURNS = 500 };

static sem_t slots, items, zero;
static int inside, most;

static void *use(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		int now;

		CHECK(sem_wait(&slots) == 0);
		now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		CHECK(now <= 3);
		if (i % 20 == 0)
			sched_yield();
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		CHECK(sem_post(&slots) == 0);
	}
	return arg;
}

static void *ping(void *arg)
{
	for (int i = 0; i < 5000; i++) {
		CHECK(sem_wait(&items) == 0);
		CHECK(sem_post(&zero) == 0);
	}
	return arg;
}

static void on_sig(int sig)
{
	most = sig;
}

int main(void)
{
	struct t_poker poker;
	struct timespec ts;
	pthread_t th[N];
	char name[32];
	long long t0;
	sem_t *named;
	int v;

	CHECK(sem_init(&slots, 0, 3) == 0);
	CHECK(sem_init(&items, 0, 0) == 0);
	CHECK(sem_init(&zero, 0, 0) == 0);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(use, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(sem_getvalue(&slots, &v) == 0);
	t_say("value %d", v);
	th[0] = t_thread(ping, NULL);
	for (int i = 0; i < 5000; i++) {
		CHECK(sem_post(&items) == 0);
		CHECK(sem_wait(&zero) == 0);
	}
	t_join(th[0]);
	t_say("ping-pong");

	CHECK_ERR(sem_trywait(&zero), EAGAIN);
	t0 = t_now();
	ts = t_in(CLOCK_REALTIME, 20 * T_MS);
	CHECK_ERR(sem_timedwait(&zero, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	t0 = t_now();
	ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	CHECK_ERR(sem_clockwait(&zero, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	ts.tv_nsec = -1;
	CHECK_ERR(sem_timedwait(&zero, &ts), EINVAL);
	t_handle(SIGUSR1, on_sig, 0);
	t_poke(&poker, SIGUSR1, T_FROM_THREAD);
	CHECK_ERR(sem_wait(&zero), EINTR);
	ts = t_in(CLOCK_REALTIME, 100 * T_SEC);
	CHECK_ERR(sem_timedwait(&zero, &ts), EINTR);
	t_unpoke(&poker);
	t_say("timeouts, interruption");

	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	named = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	CHECK(named != SEM_FAILED);
	CHECK(sem_unlink(name) == 0);
	CHECK(sem_wait(named) == 0);
	CHECK_ERR(sem_trywait(named), EAGAIN);
	CHECK(sem_post(named) == 0);
	CHECK(sem_close(named) == 0);
	t_say("named");
	return 0;
}
