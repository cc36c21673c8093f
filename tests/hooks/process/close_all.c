/*
 * Programs that close every descriptor, by close_range, closefrom and a
 * loop, before they use threads, and while threads are blocked.
 */
#include "t.h"
#include <sys/resource.h>

static int sv[2];

static void *echo(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) == 1)
		t_put(fd, c);
	return NULL;
}

static void talk(void)
{
	pthread_t th;

	t_pair(sv);
	th = t_thread(echo, &sv[0]);
	for (int i = 0; i < 5; i++) {
		t_settle();
		t_put(sv[1], 'x');
		CHECK(t_get(sv[1]) == 'x');
	}
	CHECK(shutdown(sv[1], SHUT_WR) == 0);
	t_join(th);
	t_close(sv[0]);
	t_close(sv[1]);
}

static void loop_close(void)
{
	struct rlimit rl;

	CHECK(getrlimit(RLIMIT_NOFILE, &rl) == 0);
	for (int i = 3; i < (int)rl.rlim_cur && i < 70000; i++)
		close(i);
}

int main(void)
{
	pid_t pid;

	CHECK(close_range(3, ~0u, 0) == 0);
	talk();
	t_say("before");
	CHECK(close_range(3, ~0u, 0) == 0);
	talk();
	closefrom(3);
	talk();
	loop_close();
	talk();
	t_say("after");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		closefrom(3);
		talk();
		loop_close();
		talk();
		_exit(0);
	}
	t_wait_ok(pid);
	talk();
	t_say("in a child");
	return 0;
}
