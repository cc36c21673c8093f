/* waitpid, wait4, waitid in threads while the others go on. */
#include "t.h"
#include <sys/resource.h>
#include <sys/syscall.h>

enum { N = 12 };

static int up[2];
static volatile int progress;

static void *waiter(void *arg)
{
	int i = (int)(intptr_t)arg, st = 0, hold[2];
	struct rusage ru;
	siginfo_t si;
	pid_t pid;

	CHECK(pipe2(hold, O_CLOEXEC) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(hold[1]);
		_exit(t_get(hold[0]));
	}
	t_put(up[1], 'b');
	/* Another thread has to run before this child can end. */
	while (!progress)
		sched_yield();
	t_put(hold[1], (char)(i + 1));
	switch (i % 4) {
	case 0:
		CHECK(waitpid(pid, &st, 0) == pid);
		break;
	case 1:
		CHECK(wait4(pid, &st, 0, &ru) == pid);
		break;
	case 2:
		CHECK(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) == 0);
		CHECK(si.si_pid == pid);
		CHECK(si.si_status == i + 1);
		CHECK(waitpid(pid, &st, 0) == pid);
		break;
	case 3: {
		int fd = (int)syscall(SYS_pidfd_open, pid, 0);
		struct pollfd pf = { fd, POLLIN, 0 };

		if (fd >= 0) {
			CHECK(poll(&pf, 1, 10000) == 1);
			CHECK(pf.revents == POLLIN);
			t_close(fd);
		}
		CHECK(waitpid(pid, &st, 0) == pid);
		break;
	}
	}
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == i + 1);
	t_close(hold[0]);
	t_close(hold[1]);
	return NULL;
}

static void *blocked_wait(void *arg)
{
	t_wait_ok(*(pid_t *)arg);
	return NULL;
}

int main(void)
{
	pthread_t th[N];
	int p[2], st;
	pid_t pid;

	CHECK(pipe2(up, O_CLOEXEC) == 0);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(waiter, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		CHECK(t_get(up[0]) == 'b');
	progress = 1;
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d threads waited", N);
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(t_get(p[0]) != 'x');
	th[0] = t_thread(blocked_wait, &pid);
	t_settle();
	CHECK(waitpid(pid, &st, WNOHANG) == 0);
	t_join(t_thread(t_nothing, NULL));
	t_put(p[1], 'x');
	t_join(th[0]);
	CHECK_ERR(waitpid(pid, &st, 0), ECHILD);
	CHECK_ERR(waitpid(-1, &st, 12345), EINVAL);
	t_say("a blocked waiter held nobody up");
	return 0;
}
