/*
 * fork from a thread: the child's only thread is that one, with its TLS; it
 * can make threads, fork again, exit. Many threads fork at once.
 */
#include "t.h"

enum { N = 6, TURNS = 5 };

static __thread int tls;
static int keep[2];

static void *in_child(void *arg)
{
	int sv[2];

	t_pair(sv);
	t_put(sv[0], 'a');
	CHECK(t_get(sv[1]) == 'a');
	return (char *)arg + 1;
}

static void *forker(void *arg)
{
	int me = (int)(intptr_t)arg, st;

	tls = me;
	for (int i = 0; i < TURNS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			pid_t grandchild;

			CHECK(tls == me);
			CHECK(gettid() == getpid());
			CHECK(t_join(t_thread(in_child, (void *)9)) ==
			      (void *)10);
			grandchild = fork();
			CHECK(grandchild >= 0);
			if (grandchild == 0) {
				CHECK(t_join(t_thread(in_child, NULL)) ==
				      (void *)1);
				_exit(3);
			}
			st = t_wait(grandchild);
			CHECK(WEXITSTATUS(st) == 3);
			_exit(20 + me);
		}
		sched_yield();
		st = t_wait(pid);
		CHECK(WIFEXITED(st));
		CHECK(WEXITSTATUS(st) == 20 + me);
	}
	return NULL;
}

static void *blocked(void *arg)
{
	t_eof(keep[0]);
	return arg;
}

int main(void)
{
	pthread_t th[N], b;

	CHECK(pipe2(keep, O_CLOEXEC) == 0);
	b = t_thread(blocked, NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(forker, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_close(keep[1]);
	t_join(b);
	t_say("%d forking threads, %d turns", N, TURNS);
	return 0;
}
