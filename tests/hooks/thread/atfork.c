/* pthread_atfork handlers, in order, in a threaded program. */
#include "t.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static volatile int stop;

static void prepare1(void)
{
	CHECK_0(pthread_mutex_lock(&mu));
}

static void release1(void)
{
	CHECK_0(pthread_mutex_unlock(&mu));
}

static int order[6], n;

static void prepare2(void)
{
	order[n++] = 1;
}

static void parent2(void)
{
	order[n++] = 2;
}

static void child2(void)
{
	order[n++] = 3;
}

static void *busy(void *arg)
{
	while (!stop) {
		CHECK_0(pthread_mutex_lock(&mu));
		counter++;
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	return arg;
}

int main(void)
{
	pthread_t th[4];

	CHECK_0(pthread_atfork(prepare1, release1, release1));
	CHECK_0(pthread_atfork(prepare2, parent2, child2));
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(busy, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		n = 0;
		pid = fork();
		CHECK(pid >= 0);
		CHECK(n == 2);
		CHECK(order[0] == 1);
		if (pid == 0) {
			CHECK(order[1] == 3);
			CHECK_0(pthread_mutex_lock(&mu));
			free(malloc(100000));
			CHECK_0(pthread_mutex_unlock(&mu));
			_exit(0);
		}
		CHECK(order[1] == 2);
		t_wait_ok(pid);
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		t_join(th[i]);
	t_say("20 forks beside busy threads");
	return 0;
}
