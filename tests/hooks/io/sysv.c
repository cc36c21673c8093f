/* System V queues and semaphores, which block in the kernel alone. */
#include "t.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct msg {
	long type;
	int n;
};

static int mq, sem;

static void *receiver(void *arg)
{
	long type = (intptr_t)arg;
	struct msg m;
	int sum = 0;

	for (int i = 0; i < 50; i++) {
		CHECK(msgrcv(mq, &m, sizeof(m.n), type, 0) == sizeof(m.n));
		CHECK(m.type == type);
		sum += m.n;
	}
	return (void *)(intptr_t)sum;
}

static int inside, most;

static void *critical(void *arg)
{
	struct sembuf down = { 0, -1, 0 }, up = { 0, 1, 0 };

	for (int i = 0; i < 50; i++) {
		int now;

		CHECK(semop(sem, &down, 1) == 0);
		now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		if (now > most)
			most = now;
		sched_yield();
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		CHECK(semop(sem, &up, 1) == 0);
	}
	return arg;
}

int main(void)
{
	struct sembuf down = { 0, -1, 0 }, up = { 0, 1, 0 };
	struct timespec ts = { 0, 20 * T_MS };
	struct msg m;
	pthread_t th[5];

	mq = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	if ((mq < 0 || sem < 0) && errno == ENOSYS)
		t_skip("the kernel has no System V IPC");
	CHECK(mq >= 0 && sem >= 0);
	for (int i = 0; i < 5; i++)
		th[i] = t_thread(receiver, (void *)(intptr_t)(i + 1));
	t_settle();
	for (int i = 0; i < 250; i++) {
		m.type = i % 5 + 1;
		m.n = i / 5;
		CHECK(msgsnd(mq, &m, sizeof(m.n), 0) == 0);
	}
	for (int i = 0; i < 5; i++)
		CHECK((intptr_t)t_join(th[i]) == 49 * 25);
	CHECK(msgctl(mq, IPC_RMID, NULL) == 0);
	t_say("messages by type");

	CHECK(semop(sem, &up, 1) == 0);
	for (int i = 0; i < 5; i++)
		th[i] = t_thread(critical, NULL);
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	CHECK(semop(sem, &down, 1) == 0);
	CHECK_ERR(semtimedop(sem, &down, 1, &ts), EAGAIN);
	CHECK(semctl(sem, 0, IPC_RMID) == 0);
	t_say("semaphore: at most %d inside", most);
	return 0;
}
