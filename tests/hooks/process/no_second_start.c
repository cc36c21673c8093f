/*
 * A fork child of a process with threads, or main once it is alone, gets a thread,
 * or is told why not, where little is to be had: descriptors, processes, a PID
 * namespace that still takes some. Life goes on.
 * t-case: descriptors
 * t-case: processes
 * t-case: namespace
 */
#include "t.h"
#include <sched.h>
#include <sys/resource.h>

static void few_descriptors(int left)
{
	struct rlimit few = { 128, 128 };
	int fd, last = -1;

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	CHECK(errno == EMFILE && last >= left);
	while (left--)
		t_close(last--);
	for (int i = 0; i < 3; i++)
		t_be_threaded();
}

static void few_processes(void)
{
	struct rlimit few = { 1, 1 };
	pthread_t th;

	CHECK(setresuid(54321, 54321, 54321) == 0);
	CHECK(setrlimit(RLIMIT_NPROC, &few) == 0);
	for (int i = 0; i < 3; i++)
		CHECK_RC(pthread_create(&th, NULL, t_nothing, NULL), EAGAIN);
	CHECK_ERR(fork(), EAGAIN);
}

static void in_child(void (*fn)(int), int arg)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		/* The library has something to say. */
		close(2);
		fn(arg);
		CHECK_ERR(write(-1, "", 1), EBADF);
		_exit(0);
	}
	t_wait_ok(pid);
}

static void processes(int arg)
{
	(void)arg;
	few_processes();
}

static void threads(int arg)
{
	(void)arg;
	t_be_threaded();
}

static void *forks(void *arg)
{
	if (*(const char *)arg == 'd')
		for (int left = 0; left < 6; left++)
			in_child(few_descriptors, left);
	else
		in_child(processes, 0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;

	CHECK(argc == 2);
	if (argv[1][0] != 'd' && geteuid() != 0)
		t_skip("only root can change its user id, and unshare");
	t_be_threaded();
	if (argv[1][0] != 'n') {
		forks(argv[1]);
		t_join(t_thread(forks, argv[1]));
		t_say("%s: all had, or were told", argv[1]);
		return 0;
	}
	close(2);
	CHECK(unshare(CLONE_NEWPID) == 0);
	for (int i = 0; i < 2; i++)
		CHECK_RC(pthread_create(&th, NULL, t_nothing, NULL), EINVAL);
	in_child(threads, 0);
	t_say("a namespace that takes no thread of ours");
	return 0;
}
