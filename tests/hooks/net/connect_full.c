/*
 * A unix socket's backlog is full: connect blocks until somebody accepts,
 * EAGAIN when nonblocking, and SO_SNDTIMEO ends it.
 */
#include "t.h"

static struct sockaddr_un addr = { .sun_family = AF_UNIX };

static int open_one(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	return fd;
}

static void *blocked(void *arg)
{
	int fd = open_one();

	CHECK(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	t_put(fd, 'c');
	t_close(fd);
	return arg;
}

int main(void)
{
	struct timeval tv = { 0, 40000 };
	int l = open_one(), fd, n = 0;
	pthread_t th[5];
	long long t0;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", getenv("T_TMP"));
	CHECK(bind(l, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	CHECK(listen(l, 2) == 0);
	for (;; n++) {
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		CHECK(fd >= 0);
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
			break;
		t_put(fd, 'n');
		t_close(fd);
	}
	CHECK(errno == EAGAIN);
	t_say("backlog of 2 took %d, then EAGAIN", n);
	t_close(fd);

	fd = open_one();
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0);
	t0 = t_now();
	CHECK_ERR(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), EAGAIN);
	/* The kernel counts in ticks, and may come early: timeouts.c. */
	T_TOOK(t0, T_MS);
	t_close(fd);
	t_say("timeout: EAGAIN");

	for (int i = 0; i < 5; i++)
		th[i] = t_thread(blocked, NULL);
	t_settle();
	for (int i = 0, c = 0; i < n + 5; i++) {
		fd = accept(l, NULL, NULL);
		CHECK(fd >= 0);
		c += t_get(fd) == 'c';
		t_close(fd);
		if (i == n + 4)
			t_say("%d blocked connects went through", c);
	}
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	return 0;
}
