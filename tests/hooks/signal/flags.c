/* SA_NODEFER, SA_RESETHAND, sa_mask, nested handlers, the old action. */
#include "t.h"

static volatile int depth, deepest, order[8], n;

static void nest(int sig)
{
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (depth < 4)
		raise(sig);
	depth--;
}

static void first(int sig)
{
	sigset_t now;

	(void)sig;
	order[n++] = 1;
	raise(SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1) == 1);
	CHECK(sigismember(&now, SIGUSR2) == 1);
	order[n++] = 2;
}

static void second(int sig)
{
	(void)sig;
	order[n++] = 3;
}

static void *check(void *arg)
{
	struct sigaction sa, old;

	depth = deepest = n = 0;
	t_handle(SIGUSR1, nest, SA_NODEFER);
	raise(SIGUSR1);
	CHECK(deepest == 4);
	depth = 3;
	t_handle(SIGUSR1, nest, 0);
	raise(SIGUSR1);
	CHECK(depth == 3);
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = first;
	sigaddset(&sa.sa_mask, SIGUSR2);
	sa.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGUSR1, &sa, &old) == 0);
	CHECK(old.sa_handler == nest);
	t_handle(SIGUSR2, second, 0);
	raise(SIGUSR1);
	CHECK(n == 3);
	CHECK(order[0] == 1 && order[1] == 2 && order[2] == 3);
	t_handle(SIGUSR2, second, SA_RESETHAND | SA_SIGINFO);
	raise(SIGUSR2);
	CHECK(sigaction(SIGUSR2, NULL, &old) == 0);
	CHECK(old.sa_handler == SIG_DFL);
	/* The handler alone: the flags stay. */
	CHECK((old.sa_flags & (int)(SA_RESETHAND | SA_SIGINFO)) ==
	      (int)(SA_RESETHAND | SA_SIGINFO));
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0);
	CHECK(old.sa_handler == first);
	CHECK(old.sa_flags == SA_RESTART ||
	      old.sa_flags == (SA_RESTART | 0x04000000));
	CHECK(sigismember(&old.sa_mask, SIGUSR2) == 1);
	CHECK(sigismember(&old.sa_mask, SIGTERM) == 0);
	CHECK_ERR(sigaction(SIGKILL, &sa, NULL), EINVAL);
	CHECK_ERR(sigaction(0, NULL, &old), EINVAL);
	CHECK_ERR(sigaction(65, NULL, &old), EINVAL);
	return arg;
}

int main(void)
{
	check(NULL);
	t_be_threaded();
	check(NULL);
	t_join(t_thread(check, NULL));
	t_say("before, in main, in a thread");
	return 0;
}
