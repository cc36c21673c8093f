/*
 * Threads that connect, for counting their system calls: count.py.
 *
 *	connect HOW THREADS ROUNDS
 *
 * Each opens connections to another process, one after the other, and closes them.
 * HOW: plain, or forked: they are a fork child's, whose parent has a thread.
 * Without arguments: status 3, and the reason, if the library can do no more here
 * than have the kernel wait.
 */
#include "t.h"
#include "ring.h"

static int port;
static long rounds;

static void *caller(void *arg)
{
	for (long r = 0; r < rounds; r++)
		t_close(t_connect(port));
	return arg;
}

static void server(int listener, long connections)
{
	for (long i = 0; i < connections; i++) {
		int fd = accept(listener, NULL, NULL);

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
	listener = t_listen(&port);
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
	return 0;
}
