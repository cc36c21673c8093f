/* A key's destructor that blocks: the thread is not gone before it is. */
#include "t.h"

static pthread_key_t key;
static int p[2], q[2];

static void on_destroy(void *v)
{
	t_put(q[1], 'd');
	CHECK(t_get(p[0]) == 'g');
	*(int *)v = 1;
}

static void *work(void *arg)
{
	CHECK_0(pthread_setspecific(key, arg));
	return NULL;
}

int main(void)
{
	pthread_t th;
	int done = 0;

	t_pipe(p);
	t_pipe(q);
	CHECK_0(pthread_key_create(&key, on_destroy));
	th = t_thread(work, &done);
	CHECK(t_get(q[0]) == 'd');
	CHECK_RC(pthread_tryjoin_np(th, NULL), EBUSY);
	CHECK(done == 0);
	t_put(p[1], 'g');
	t_join(th);
	CHECK(done == 1);
	t_say("joined after its destructor");
	return 0;
}
