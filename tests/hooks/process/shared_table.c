/*
 * A process that shares our table of descriptors, and not our memory: what it opens
 * is ours as well, and what waits here goes on.
 * t-case: alone
 * t-case: stack
 * t-case: threaded
 */
#include "t.h"
#include <sched.h>

static char stack[65536] __attribute__((aligned(16)));
static int to[2], from[2], threaded;

static void *echoes(void *arg)
{
	char c;

	while ((c = t_get(to[0])) != 'q')
		t_put(from[1], c);
	return arg;
}

/* The number is the result: its memory is another one. */
static int in_child(void *arg)
{
	int port, fd = t_listen(&port);

	(void)arg;
	if (threaded)
		t_join(t_thread(t_nothing, NULL));
	return fd;
}

static int open_by_child(int with_stack)
{
	long pid = with_stack ? clone(in_child, stack + sizeof(stack),
				      CLONE_FILES | SIGCHLD, NULL) :
				syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0,
					0, 0);

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(in_child(NULL));
	return WEXITSTATUS(t_wait((pid_t)pid));
}

static void *accepts(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	CHECK(fd >= 0);
	t_put(fd, 'a');
	t_close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	pthread_t th, taker;
	int fd, c;

	CHECK(argc == 2);
	threaded = argv[1][0] == 't';
	t_pipe(to);
	t_pipe(from);
	th = t_thread(echoes, NULL);
	for (int i = 0; i < 3; i++) {
		t_settle();
		fd = open_by_child(argv[1][0] == 's');
		CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
		taker = t_thread(accepts, &fd);
		c = t_connect(ntohs(a.sin_port));
		CHECK(t_get(c) == 'a');
		t_close(c);
		t_join(taker);
		t_close(fd);
		t_put(to[1], 'x');
		CHECK(t_get(from[0]) == 'x');
	}
	t_put(to[1], 'q');
	t_join(th);
	t_say("what a child has opened");
	return 0;
}
