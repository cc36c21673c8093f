/* pthread_kill to a blocked, a sleeping and a computing thread. */
#include "t.h"

static __thread volatile int mine;
static __thread int id;
static volatile int wrong;
static sem_t ready, handled;
static pthread_t self[4];

static void on_sig(int sig)
{
	(void)sig;
	if (!pthread_equal(pthread_self(), self[id]))
		wrong++;
	mine++;
	sem_post(&handled);
}

static void *blocked(void *arg)
{
	char c;

	id = 0;
	self[0] = pthread_self();
	CHECK(sem_post(&ready) == 0);
	while (mine < 20) {
		ssize_t r = read(*(int *)arg, &c, 1);

		CHECK(r == -1);
		CHECK(errno == EINTR);
	}
	return NULL;
}

static void *sleeping(void *arg)
{
	struct timespec ts = { 100, 0 };

	id = 1;
	self[1] = pthread_self();
	CHECK(sem_post(&ready) == 0);
	while (mine < 20)
		CHECK_ERR(nanosleep(&ts, NULL), EINTR);
	return arg;
}

static void *computing(void *arg)
{
	volatile unsigned long x = 0;

	id = 2;
	self[2] = pthread_self();
	CHECK(sem_post(&ready) == 0);
	while (mine < 20)
		x++;
	return arg;
}

static void *locking(void *arg)
{
	pthread_mutex_t *m = arg;

	id = 3;
	self[3] = pthread_self();
	CHECK(sem_post(&ready) == 0);
	CHECK_0(pthread_mutex_lock(m));
	CHECK(mine == 20);
	CHECK_0(pthread_mutex_unlock(m));
	return NULL;
}

/* Sends until 20 were handled: one at a time, so that none coincide. */
static void send20(pthread_t th)
{
	for (int i = 0; i < 20; i++) {
		CHECK_0(pthread_kill(th, SIGUSR1));
		t_down(&handled);
		if (i % 4 == 0)
			t_settle();
	}
}

/*
 * A call that began after the last signal needs one more. Until glibc 2.33 a
 * thread that has ended meanwhile is ESRCH.
 */
static void finish(pthread_t th)
{
	while (pthread_tryjoin_np(th, NULL) == EBUSY) {
		int r = pthread_kill(th, SIGUSR1);

		CHECK(r == 0 || r == ESRCH);
		t_settle();
	}
}

int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_t th;
	int p[2];

	t_pipe(p);
	CHECK(sem_init(&ready, 0, 0) == 0);
	CHECK(sem_init(&handled, 0, 0) == 0);
	t_handle(SIGUSR1, on_sig, 0);
	th = t_thread(blocked, &p[0]);
	CHECK(sem_wait(&ready) == 0);
	send20(th);
	finish(th);
	t_say("blocked in read");
	CHECK(sem_init(&handled, 0, 0) == 0);
	th = t_thread(sleeping, NULL);
	CHECK(sem_wait(&ready) == 0);
	send20(th);
	finish(th);
	t_say("sleeping");
	CHECK(sem_init(&handled, 0, 0) == 0);
	th = t_thread(computing, NULL);
	CHECK(sem_wait(&ready) == 0);
	send20(th);
	t_join(th);
	t_say("computing");
	CHECK(sem_init(&handled, 0, 0) == 0);
	CHECK_0(pthread_mutex_lock(&m));
	th = t_thread(locking, &m);
	CHECK(sem_wait(&ready) == 0);
	send20(th);
	CHECK_0(pthread_mutex_unlock(&m));
	t_join(th);
	t_say("waiting for a mutex");
	CHECK_0(pthread_kill(pthread_self(), 0));
	CHECK_RC(pthread_kill(pthread_self(), 12345), EINVAL);
	CHECK(wrong == 0);
	return 0;
}
