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
	return 0;
}
