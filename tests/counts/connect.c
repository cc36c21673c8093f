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
#include <sys/syscall.h>
#include <sys/utsname.h>

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

/* Rings in memory of the caller's choice: Linux 6.10. */
static int try_ring(void)
{
	struct {
		unsigned word[30];
	} params = { { 0 } };
	struct utsname u;
	int major = 0, minor = 0, fd;

	CHECK(uname(&u) == 0 &&
	      sscanf(u.release, "%d.%d", &major, &minor) == 2);
	fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (fd >= 0 && (major > 6 || (major == 6 && minor >= 10)))
		return 0;
	printf("Linux %s, io_uring: %s\n", u.release,
	       fd < 0 ? strerror(errno) : "there");
	return 3;
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
