/*
 * Threads blocked in poll: woken by data, by room, by the end; several on
 * one descriptor are all woken; a reader and a poller side by side.
 */
#include "t.h"

struct wait {
	int fd;
	short events, want;
};

static void *waiter(void *arg)
{
	struct wait *w = arg;
	struct pollfd pf[2] = { { w->fd, w->events, 0 }, { -1, 0, 0 } };

	CHECK(poll(pf, 2, 20000) == 1);
	CHECK((pf[0].revents & w->want) == w->want);
	return NULL;
}

static void *waiter_for_ever(void *arg)
{
	struct wait *w = arg;
	struct pollfd pf = { w->fd, w->events, 0 };

	CHECK(ppoll(&pf, 1, NULL, NULL) == 1);
	CHECK((pf.revents & w->want) == w->want);
	return NULL;
}

int main(void)
{
	static char block[65536];
	pthread_t th[8];
	int p[2];
	struct wait w;

	t_pipe(p);
	w = (struct wait){ p[0], POLLIN, POLLIN };
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(i % 2 ? waiter : waiter_for_ever, &w);
	t_settle();
	t_put(p[1], 'x');
	for (int i = 0; i < 8; i++)
		t_join(th[i]);
	t_say("data wakes all 8");

	t_get(p[0]);
	t_write(p[1], block, sizeof(block));
	w = (struct wait){ p[1], POLLOUT, POLLOUT };
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(i % 2 ? waiter : waiter_for_ever, &w);
	t_settle();
	t_read(p[0], block, sizeof(block));
	for (int i = 0; i < 8; i++)
		t_join(th[i]);
	t_say("room wakes all 8");

	w = (struct wait){ p[0], POLLIN, POLLHUP };
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(i % 2 ? waiter : waiter_for_ever, &w);
	t_settle();
	t_close(p[1]);
	for (int i = 0; i < 8; i++)
		t_join(th[i]);
	t_say("the end wakes all 8");

	/* Level triggered: not reading leaves it ready, again and again. */
	t_pair(p);
	t_put(p[1], 'y');
	for (int i = 0; i < 50; i++) {
		struct pollfd pf = { p[0], POLLIN, 0 };

		CHECK(poll(&pf, 1, 20000) == 1);
		CHECK(pf.revents == POLLIN);
	}
	t_say("level triggered");
	return 0;
}
