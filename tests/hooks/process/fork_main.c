/* fork from main while threads are blocked: the child starts afresh. */
#include "t.h"

enum { N = 10 };

static int p[2];

static void *blocked(void *arg)
{
	t_eof(p[0]);
	return arg;
}

static void *square(void *arg)
{
	intptr_t x = (intptr_t)arg;

	t_settle();
	return (void *)(x * x);
}

static void child(void)
{
	pthread_t th[N];
	int sum = 0, sv[2];

	t_pair(sv);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(square, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		sum += (int)(intptr_t)t_join(th[i]);
	t_put(sv[0], 'x');
	CHECK(t_get(sv[1]) == 'x');
	CHECK(gettid() == getpid());
	_exit(sum == 285 ? 7 : 8);
}

int main(void)
{
	pthread_t th[N];
	int st;

	t_pipe(p);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(blocked, NULL);
	t_settle();
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			child();
		CHECK(pid != getpid());
		st = t_wait(pid);
		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 7);
	}
	t_close(p[1]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("10 children with threads of their own");
	return 0;
}
