/*
 * Cancellation against arriving data, many times: either the datum was
 * taken and the thread says so, or it is still there. glibc before 2.41 has
 * a window around the call where a datum is lost, so this holds hooked alone.
 */
#include "t.h"

enum { TURNS = 600 };

static int taken;

static void *reader(void *arg)
{
	char c;

	if (read(*(int *)arg, &c, 1) == 1)
		__atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *acceptor(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	/* No cancellation point until it is closed. */
	CHECK(fd >= 0);
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	t_close(fd);
	__atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void delay(int turn)
{
	for (int i = turn % 5; i > 0; i--)
		sched_yield();
}

static void verdict(const char *what, int left)
{
	CHECK(left + taken <= TURNS);
	CHECK(left + taken == TURNS || !getenv("T_HOOKED"));
	t_say("%s", what);
}

int main(void)
{
	int p[2], port, l = t_listen(&port), left = 0, fd;
	struct sockaddr_in a = t_addr(port);
	char c;

	t_pair(p);
	for (int i = 0; i < TURNS; i++) {
		pthread_t th = t_thread(reader, &p[0]);

		delay(i);
		t_put(p[1], 'x');
		delay(i / 5);
		t_cancel(th);
		t_join(th);
		while (recv(p[0], &c, 1, MSG_DONTWAIT) == 1)
			left++;
	}
	verdict("read", left);

	left = taken = 0;
	for (int i = 0; i < TURNS; i++) {
		pthread_t th = t_thread(acceptor, &l);
		struct pollfd pf = { l, POLLIN, 0 };

		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(fd >= 0);
		delay(i);
		CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
		delay(i / 5);
		t_cancel(th);
		t_join(th);
		t_close(fd);
		if (poll(&pf, 1, 0) == 1) {
			t_close(accept(l, NULL, NULL));
			left++;
		}
	}
	verdict("accept", left);
	return 0;
}
