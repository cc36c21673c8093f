/* POSIX message queues: blocking both ways, priorities, timeouts. */
#include "t.h"
#include <mqueue.h>

static mqd_t q;

static void *receiver(void *arg)
{
	char msg[16];
	unsigned prio;
	int n = 0;

	do {
		CHECK(mq_receive(q, msg, sizeof(msg), &prio) == 4);
		n++;
	} while (memcmp(msg, "quit", 4) != 0);
	(void)arg;
	return (void *)(intptr_t)n;
}

static mqd_t hasty; /* the same queue, O_NONBLOCK */
static sem_t ready, go;

static void *waiter(void *arg)
{
	char msg[16];

	CHECK(mq_receive(q, msg, sizeof(msg), NULL) == 4);
	return arg;
}

/* Has waited before, and does not where it is refused, though another one waits. */
static void *refused(void *arg)
{
	char msg[16];

	for (int i = 0; i < 3; i++)
		CHECK(mq_receive(q, msg, sizeof(msg), NULL) == 4);
	CHECK_0(sem_post(&ready));
	CHECK_0(sem_wait(&go));
	CHECK_ERR(mq_receive(q, msg, 3, NULL), EMSGSIZE);
	CHECK_ERR(mq_receive(hasty, msg, sizeof(msg), NULL), EAGAIN);
	return arg;
}

static void refuse(void)
{
	pthread_t a, b;

	CHECK_0(sem_init(&ready, 0, 0));
	CHECK_0(sem_init(&go, 0, 0));
	a = t_thread(refused, NULL);
	for (int i = 0; i < 3; i++) {
		t_settle();
		CHECK_0(mq_send(q, "data", 4, 0));
	}
	CHECK_0(sem_wait(&ready));
	b = t_thread(waiter, NULL);
	t_settle();
	CHECK_0(sem_post(&go));
	t_join(a);
	CHECK_0(mq_send(q, "data", 4, 0));
	t_join(b);
}

int main(void)
{
	struct mq_attr at = { .mq_maxmsg = 4, .mq_msgsize = 16 };
	struct timespec ts;
	char name[32], msg[16];
	long long t0;
	unsigned prio;
	pthread_t th;

	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &at);
	if (q == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(q != (mqd_t)-1);
	hasty = mq_open(name, O_RDWR | O_NONBLOCK);
	CHECK(hasty != (mqd_t)-1);
	CHECK(mq_unlink(name) == 0);
	th = t_thread(receiver, NULL);
	t_settle();
	for (int i = 0; i < 100; i++)
		CHECK(mq_send(q, "data", 4, 1) == 0);
	CHECK(mq_send(q, "quit", 4, 0) == 0);
	t_say("%d received", (int)(intptr_t)t_join(th));

	t0 = t_now();
	ts = t_in(CLOCK_REALTIME, 30 * T_MS);
	CHECK_ERR(mq_timedreceive(q, msg, sizeof(msg), NULL, &ts), ETIMEDOUT);
	T_TOOK(t0, 29 * T_MS);
	for (int i = 0; i < 4; i++)
		CHECK(mq_send(q, "abcd", 4, (unsigned)i) == 0);
	t0 = t_now();
	ts = t_in(CLOCK_REALTIME, 30 * T_MS);
	CHECK_ERR(mq_timedsend(q, "x", 1, 0, &ts), ETIMEDOUT);
	T_TOOK(t0, 29 * T_MS);
	for (int i = 0; i < 4; i++) {
		CHECK(mq_receive(q, msg, sizeof(msg), &prio) == 4);
		t_say("priority %u", prio);
	}
	refuse();
	return 0;
}
