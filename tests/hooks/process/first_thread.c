/*
 * What main changes of itself, others see of the process: /proc/PID/status is
 * about its first thread. Meanwhile others compute, wait, or block in the kernel.
 *
 * t-case: compute
 * t-case: wait
 * t-case: block
 */
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include "t.h"

enum { N = 4, SLACK = 12345 };

static atomic_int over;
static int up[2], down[2], queue = -1;

static void *compute(void *arg)
{
	t_put(up[1], 'x');
	while (!over)
		;
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	return arg;
}

static void *wait_there(void *arg)
{
	t_put(up[1], 'x');
	t_eof(down[0]);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	return arg;
}

static void *block(void *arg)
{
	struct {
		long type;
		char text[8];
	} m;

	t_put(up[1], 'x');
	while (msgrcv(queue, &m, sizeof(m.text), 0, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	return arg;
}

/* In the eyes of a child. */
static void look(const char *when)
{
	char path[64], line[256];
	pid_t parent = getpid(), pid = fork();
	FILE *f;

	CHECK(pid >= 0);
	if (pid) {
		t_say("%s: NoNewPrivs %d", when, WEXITSTATUS(t_wait(pid)));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", parent);
	CHECK((f = fopen(path, "r")));
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "NoNewPrivs:", 11))
			_exit(atoi(line + 11));
	_exit(77);
}

int main(int argc, char **argv)
{
	struct {
		long type;
		char text[8];
	} m = { 1, "go" };
	void *(*fn)(void *) = wait_there;
	pthread_t t[N];

	CHECK(argc == 2);
	t_pipe(up);
	t_pipe(down);
	if (!strcmp(argv[1], "compute"))
		fn = compute;
	if (!strcmp(argv[1], "block")) {
		fn = block;
		queue = msgget(IPC_PRIVATE, 0600);
		CHECK(queue >= 0);
	}
	for (int i = 0; i < N; i++)
		t[i] = t_thread(fn, NULL);
	for (int i = 0; i < N; i++)
		t_get(up[0]);
	look("before");
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	look("after");
	over = 1;
	t_close(down[1]);
	for (int i = 0; i < N; i++) {
		if (queue >= 0)
			CHECK(msgsnd(queue, &m, sizeof(m.text), 0) == 0);
	}
	for (int i = 0; i < N; i++)
		t_join(t[i]);
	if (queue >= 0)
		CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	return 0;
}
