/* Cancellation disabled and enabled again, deferred, asynchronous, testcancel. */
#include "t.h"

static int p[2], q[2];
static volatile long spins;
static sem_t ready;

static void note(void *arg)
{
	t_say("cleanup: %s", (const char *)arg);
}

/* Disabled: the call goes on and gets its datum; enabled: the next one ends. */
static void *disabled(void *arg)
{
	int old;

	pthread_cleanup_push(note, "disabled, then enabled");
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	CHECK(old == PTHREAD_CANCEL_ENABLE);
	CHECK(sem_post(&ready) == 0);
	t_say("got %c", t_get(p[0]));
	pthread_testcancel();
	t_say("testcancel while disabled returns");
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	CHECK(old == PTHREAD_CANCEL_DISABLE);
	t_say("still here: deferred");
	t_get(p[0]);
	t_say("never here");
	pthread_cleanup_pop(0);
	return arg;
}

/* A call that need not block is a cancellation point all the same. */
static void *not_blocking(void *arg)
{
	char c;

	CHECK(sem_post(&ready) == 0);
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK(t_get(q[0]) == 'g');
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	pthread_cleanup_push(note, "before the datum is taken");
	read(p[0], &c, 1);
	t_say("never here");
	pthread_cleanup_pop(0);
	return arg;
}

static void *asynchronous(void *arg)
{
	int old;

	pthread_cleanup_push(note, "asynchronous");
	CHECK_0(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	CHECK(old == PTHREAD_CANCEL_DEFERRED);
	CHECK(sem_post(&ready) == 0);
	for (;;)
		spins++;
	pthread_cleanup_pop(0);
	return arg;
}

static void *computing(void *arg)
{
	pthread_cleanup_push(note, "testcancel");
	CHECK(sem_post(&ready) == 0);
	for (;;) {
		spins++;
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return arg;
}

static void *itself(void *arg)
{
	pthread_cleanup_push(note, "itself");
	CHECK_0(pthread_cancel(pthread_self()));
	t_say("not yet");
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return arg;
}

static void *mutex_is_no_point(void *arg)
{
	pthread_mutex_t *m = arg;

	CHECK(sem_post(&ready) == 0);
	CHECK_0(pthread_mutex_lock(m));
	t_say("locked although cancelled");
	CHECK_0(pthread_mutex_unlock(m));
	pthread_testcancel();
	return arg;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t th = t_thread(fn, arg);

	CHECK(sem_wait(&ready) == 0);
	return th;
}

int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_t th;

	CHECK(sem_init(&ready, 0, 0) == 0);
	t_pipe(p);
	t_pipe(q);
	th = start(disabled, NULL);
	t_settle();
	CHECK_0(pthread_cancel(th));
	t_put(p[1], 'd');
	CHECK(t_join(th) == PTHREAD_CANCELED);

	t_put(p[1], 'k');
	th = start(not_blocking, NULL);
	CHECK_0(pthread_cancel(th));
	t_put(q[1], 'g');
	CHECK(t_join(th) == PTHREAD_CANCELED);
	CHECK(t_get(p[0]) == 'k');
	t_say("the datum is still there");

	th = start(asynchronous, NULL);
	t_settle();
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	th = start(computing, NULL);
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	CHECK(t_join(t_thread(itself, NULL)) == PTHREAD_CANCELED);
	CHECK_0(pthread_mutex_lock(&m));
	th = start(mutex_is_no_point, &m);
	t_settle();
	CHECK_0(pthread_cancel(th));
	t_settle();
	CHECK_0(pthread_mutex_unlock(&m));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	CHECK(spins > 0);
	return 0;
}
