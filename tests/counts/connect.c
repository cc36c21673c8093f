/*
 * Threads that connect, for counting their system calls: count.py.
 *
 *	connect HOW THREADS ROUNDS
 *
 * Each opens connections to another process, one after the other, and closes them.
 * HOW: plain, or forked: they are a fork child's, whose parent has a thread; ask: each
 * sends a request, and reads the answer, and local: the same, of AF_UNIX.
 * Without arguments: status 3, and the reason, if the library can do no more here
 * than have the kernel wait.
 */
#include <stdbool.h>
#include "t.h"
#include "ring.h"

static int port;
static long rounds;
static bool asks, local;
static struct sockaddr_un name = { .sun_family = AF_UNIX };

static int listen_local(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "/tmp/connect-%d",
		 (int)getpid());
	CHECK_0(bind(fd, (struct sockaddr *)&name, sizeof(name)));
	CHECK_0(listen(fd, 64));
	return fd;
}

static int connect_local(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_0(connect(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

static void *caller(void *arg)
{
	for (long r = 0; r < rounds; r++) {
		int fd = local ? connect_local() : t_connect(port);

		if (asks) {
			t_put(fd, 'x');
			CHECK(t_get(fd) == 'x');
		}
		t_close(fd);
	}
	return arg;
}

static void server(int listener, long connections)
{
	for (long i = 0; i < connections; i++) {
		int fd = accept(listener, NULL, NULL);

		if (asks)
			t_put(fd, t_get(fd));
		t_eof(fd);
		t_close(fd);
	}
	_exit(0);
}

/* For the reason to be printed. */
static int try_ring(void)
{
	const char *why = t_no_ring();

	if (why)
		puts(why);
	return why ? 3 : 0;
}

int main(int argc, char **argv)
{
	pthread_t th[64];
	int listener, threads;
	pid_t pid, child = 1;

	if (argc == 1)
		return try_ring();
	CHECK(argc == 4);
	threads = atoi(argv[2]);
	rounds = atol(argv[3]);
	CHECK(threads > 0 && threads <= (int)T_LEN(th));
	local = !strcmp(argv[1], "local");
	asks = local || !strcmp(argv[1], "ask");
	listener = local ? listen_local() : t_listen(&port);
	pid = fork();
	if (pid == 0)
		server(listener, threads * rounds);
	if (!strcmp(argv[1], "forked")) {
		t_be_threaded();
		child = fork();
		if (child) {
			t_wait_ok(child);
			t_wait_ok(pid);
			return 0;
		}
	}
	for (int i = 0; i < threads; i++)
		th[i] = t_thread(caller, NULL);
	for (int i = 0; i < threads; i++)
		t_join(th[i]);
	if (child)
		t_wait_ok(pid);
	if (local)
		unlink(name.sun_path);
	return 0;
}
