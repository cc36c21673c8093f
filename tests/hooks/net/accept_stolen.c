/*
 * dup2() to a number that an accept() is just taking, and gives back: it is EBUSY, or
 * the number is the one that was put there, and stays so.
 */
#include "t.h"
#include <sys/stat.h>

enum { WAITERS = 3, ROUNDS = 60000 };

static int listener, enough;

static void *waiter(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST))
		CHECK_ERR(accept(listener, NULL, NULL), EAGAIN);
	return arg;
}

int main(void)
{
	struct timeval limit = { 0, 1000 };
	struct stat mine, now;
	pthread_t th[WAITERS];
	int port, p[2], first;

	listener = t_listen(&port);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit,
			 sizeof(limit)) == 0);
	t_pipe(p);
	CHECK(fstat(p[0], &mine) == 0);
	first = dup(0);
	t_close(first);
	for (int i = 0; i < WAITERS; i++)
		th[i] = t_thread(waiter, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		int at = first + i % WAITERS;

		if (dup2(p[0], at) < 0) {
			CHECK(errno == EBUSY);
			sched_yield();
			continue;
		}
		for (int n = 0; n < 3; n++) {
			sched_yield();
			CHECK(fstat(at, &now) == 0);
			CHECK(now.st_ino == mine.st_ino);
		}
		t_close(at);
	}
	__atomic_store_n(&enough, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < WAITERS; i++)
		t_join(th[i]);
	t_say("it stays");
	return 0;
}
