/*
 * A stop and SIGCONT end epoll_wait(), and a receive with a time limit, with EINTR, while
 * others have all processors, so that no worker ever has nothing to do.
 *
 * t-no-stats: the stopped child leaves by _exit()
 */
#include "../calls.h"
#include <sys/epoll.h>

enum {
	OTHERS = 9, /* more than there are workers */
	STOPS = 20,
	EACH_MS = 100
};

static atomic_int over;

static long yields(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		sched_yield();
	return 0;
}

static long epolls(void *arg)
{
	struct epoll_event ev;

	return epoll_wait(*(int *)arg, &ev, 1, -1);
}

static long recvs(void *arg)
{
	char c;

	return recv(*(int *)arg, &c, 1, 0);
}

static int in_child(int to, int from)
{
	struct t_call c[2], others[OTHERS];
	struct timeval limit = { 10, 0 };
	int sv[2], ep = epoll_create1(0);

	t_pair(sv);
	CHECK_0(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			   sizeof(limit)));
	t_begin(&c[0], epolls, &ep);
	t_begin(&c[1], recvs, &sv[0]);
	for (int i = 0; i < OTHERS; i++)
		t_begin_one(&others[i], yields, NULL);
	t_put(to, 's');
	t_ended("epoll_wait", &c[0]);
	t_ended("recv with a limit", &c[1]);
	t_put(to, 'e');
	t_get(from);
	atomic_store(&over, 1);
	for (int i = 0; i < OTHERS; i++)
		t_end(&others[i]);
	return 0;
}

/*
 * Where the monitor was awake as well, a stop ends nothing (COMPATIBILITY): so there are
 * several.
 */
int main(void)
{
	struct pollfd end = { .events = POLLIN };
	int up[2], down[2], st;
	pid_t pid;

	t_pipe(up);
	t_pipe(down);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(in_child(up[1], down[0]));
	t_get(up[0]);
	end.fd = up[0];
	for (int i = 0; i < STOPS && poll(&end, 1, 0) == 0; i++) {
		CHECK_0(kill(pid, SIGSTOP));
		CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
		CHECK_0(kill(pid, SIGCONT));
		poll(&end, 1, EACH_MS);
	}
	t_get(up[0]);
	t_put(down[1], 'c');
	st = t_wait(pid);
	CHECK(WIFEXITED(st));
	return WEXITSTATUS(st);
}
