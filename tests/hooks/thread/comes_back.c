/*
 * A thread comes back from a call that it has waited in for long, while all else slept;
 * creates another one, or tells one that waits, and computes until that one has run.
 *
 * t-case: create
 * t-case: post
 * t-case: pipe
 */
#include "t.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>

static atomic_int ran;
static sem_t posted;
static int told[2], locked;

static void *runs(void *how)
{
	if (!strcmp(how, "post"))
		t_down(&posted);
	if (!strcmp(how, "pipe"))
		t_get(told[0]);
	atomic_store(&ran, 1);
	return NULL;
}

static void *comes_back(void *how)
{
	bool creates = !strcmp(how, "create");
	pthread_t th;

	if (!creates)
		th = t_thread(runs, how);
	CHECK(flock(locked, LOCK_EX) == 0);
	if (creates)
		th = t_thread(runs, how);
	else if (!strcmp(how, "post"))
		CHECK(sem_post(&posted) == 0);
	else
		t_put(told[1], 'x');
	while (!atomic_load_explicit(&ran, memory_order_acquire))
		;
	t_join(th);
	return NULL;
}

/*
 * Has the lock for 0.3 s from when a thread is about to wait for it: nothing tells from
 * outside that all of a process sleeps, and the monitor does so after 40 ms.
 */
static pid_t holder(const char *path, int ready, int go)
{
	pid_t pid = fork();
	int fd;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	t_put(ready, 'x');
	t_get(go);
	usleep(300000);
	_exit(0);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/comes_back.XXXXXX";
	int ready[2], go[2];
	pid_t pid;

	CHECK(argc == 2 && sem_init(&posted, 0, 0) == 0);
	locked = mkstemp(path);
	CHECK(locked >= 0);
	t_pipe(ready);
	t_pipe(go);
	t_pipe(told);
	pid = holder(path, ready[1], go[0]);
	t_get(ready[0]);
	CHECK(unlink(path) == 0);
	t_put(go[1], 'x');
	t_join(t_thread(comes_back, argv[1]));
	t_wait_ok(pid);
	t_say("%s: it has run", argv[1]);
	return 0;
}
