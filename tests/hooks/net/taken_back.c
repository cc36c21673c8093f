/*
 * Threads wait in accept(), and connect() with AF_UNSPEC takes the listening back: the
 * first of them hears of it, and the others wait on, for what shutdown() tells all, or
 * for a connection when it listens again. Where connect() is refused all is as before:
 * what another process shuts ends them all.
 *
 * t-case: shutdown
 * t-case: again
 * t-case: twice
 * t-case: refused
 */
#include "t.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 5 };

static int listener;
static atomic_int refused, served, entered;

static void *accepts(void *arg)
{
	int fd;

	atomic_fetch_add(&entered, 1);
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0 || errno == EINVAL);
	if (fd >= 0)
		t_close(fd);
	atomic_fetch_add(fd < 0 ? &refused : &served, 1);
	return arg;
}

static void take_back(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	CHECK(connect(listener, &none, sizeof(none)) == 0);
}

/* What connect() refuses has changed nothing. */
static void be_refused(void)
{
	char none[4096] = { 0 };
	pid_t pid;

	CHECK(connect(listener, (struct sockaddr *)none, sizeof(none)) < 0 &&
	      errno == EINVAL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(shutdown(listener, SHUT_RDWR) != 0);
	t_wait_ok(pid);
}

static void until(atomic_int *what, int n)
{
	while (atomic_load(what) < n)
		t_settle();
}

/* @n of them have been refused; no more, though there is time for it. */
static void still(int n)
{
	until(&refused, n);
	usleep(400000); /* what does not happen cannot be waited for */
	CHECK(atomic_load(&refused) == n);
}

static void connect_one(int n)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(getsockname(listener, (struct sockaddr *)&a, &len) == 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	until(&served, n);
	t_close(fd);
}

int main(int argc, char **argv)
{
	bool shuts, again;
	int port, one = 1;
	pthread_t th[THREADS];

	CHECK(argc == 2);
	shuts = !strcmp(argv[1], "shutdown");
	again = !strcmp(argv[1], "again");
	t_be_threaded();
	listener = t_listen(&port);
	CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one,
			 sizeof(one)) == 0);
	for (int i = 0; i < THREADS; i++) {
		th[i] = t_thread(accepts, NULL);
		until(&entered, i + 1);
		t_settle();
	}
	if (!strcmp(argv[1], "refused")) {
		be_refused();
		until(&refused, THREADS);
		t_say("all are told");
		return 0;
	}
	take_back();
	still(1);
	t_say("one is told");
	if (!shuts) {
		CHECK(listen(listener, 5) == 0);
		connect_one(1);
		t_say("one is served");
	}
	if (!shuts && !again) {
		take_back();
		still(2);
		t_say("one more is told");
	}
	if (shutdown(listener, SHUT_RDWR))
		t_say("shutdown: %s", strerrorname_np(errno));
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	t_say("%d are told, %d served", atomic_load(&refused),
	      atomic_load(&served));
	return 0;
}
