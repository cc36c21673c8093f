/*
 * A thread that accepts, for counting its system calls: count.py.
 *
 *	accept HOW THREADS ROUNDS
 *
 * A client in another process, that has no threads, opens one connection after the
 * other, each when the one before has been closed. HOW: close (at once), serve (a
 * thread for each: it answers one message). THREADS accept at the same listener.
 */
#include <stdbool.h>
#include "t.h"

static int listener, port;
static long rounds;
static bool serves;
static _Atomic long left;

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[63];

	t_read(fd, buf, sizeof(buf));
	t_write(fd, buf, sizeof(buf));
	t_close(fd);
	return NULL;
}

static void *acceptor(void *arg)
{
	while (left-- > 0) {
		int fd = accept(listener, NULL, NULL);

		CHECK(fd >= 0);
		if (serves)
			CHECK_0(pthread_detach(
				t_small_thread(serve, (void *)(intptr_t)fd)));
		else
			t_close(fd);
	}
	return arg;
}

static void client(void)
{
	char buf[63] = { 0 };

	for (long r = 0; r < rounds; r++) {
		int fd = t_connect(port);

		if (serves) {
			t_write(fd, buf, sizeof(buf));
			t_read(fd, buf, sizeof(buf));
		}
		t_eof(fd);
		t_close(fd);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t th[64];
	int threads;
	pid_t pid;

	CHECK(argc == 4);
	serves = !strcmp(argv[1], "serve");
	threads = atoi(argv[2]);
	left = rounds = atol(argv[3]);
	CHECK(threads > 0 && threads <= (int)T_LEN(th));
	listener = t_listen(&port);
	pid = fork();
	if (pid == 0)
		client();
	t_be_threaded();
	/* One of them is main. */
	for (int i = 1; i < threads; i++)
		th[i] = t_thread(acceptor, NULL);
	acceptor(NULL);
	for (int i = 1; i < threads; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	return 0;
}
