/*
 * The kernel gives no further thread (RLIMIT_NPROC), and eight threads that
 * were there before block in a call that has no other form, until another
 * process lets go. Whoever would have wanted a thread more for that goes on
 * when it may. A new thread is refused as natively, or made: never is the
 * process ended.
 *
 * t-case: flock
 * t-case: loop
 */
#include <sys/file.h>
#include <sys/resource.h>
#include "t.h"

#define BLOCKED 8

static char path[256];
static volatile int stop;
static int loops;
static pthread_barrier_t all_here;
static _Atomic int through;

static void *blocked(void *arg)
{
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	pthread_barrier_wait(&all_here);
	if (loops) {
		while (!stop)
			;
	} else {
		CHECK(flock(fd, LOCK_EX) == 0);
		CHECK(flock(fd, LOCK_UN) == 0);
	}
	t_close(fd);
	through++;
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* A uid that nobody has, so that its limit is ours alone. */
static void no_more_threads(void)
{
	uid_t uid = 1000000 + (uid_t)getpid();
	struct rlimit none = { 1, 1 };

	if (geteuid() == 0)
		CHECK(setresuid(uid, uid, uid) == 0);
	CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
}

/* Holds the lock until it is told to let go, or a while after that it was. */
static pid_t holder(int ready, int told)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	int fd = open(path, O_RDWR);

	CHECK(flock(fd, LOCK_EX) == 0);
	t_put(ready, 'r');
	t_get(told);
	t_settle();
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t th[BLOCKED], more;
	int ready[2], told[2], r;
	pid_t pid;

	loops = argc > 1 && !strcmp(argv[1], "loop");
	snprintf(path, sizeof(path), "%s/it", getenv("T_TMP"));
	CHECK(chmod(getenv("T_TMP"), 0777) == 0);
	t_close(open(path, O_RDWR | O_CREAT, 0666));
	CHECK(chmod(path, 0666) == 0);
	t_pipe(ready);
	t_pipe(told);
	pid = holder(ready[1], told[0]);
	t_get(ready[0]);
	CHECK_0(pthread_barrier_init(&all_here, NULL, BLOCKED + 1));
	for (int i = 0; i < BLOCKED; i++)
		th[i] = t_thread(blocked, NULL);
	no_more_threads();
	t_put(told[1], 't');
	pthread_barrier_wait(&all_here);
	r = pthread_create(&more, NULL, nothing, NULL);
	CHECK(r == 0 || r == EAGAIN);
	if (r == 0)
		t_join(more);
	stop = 1;
	for (int i = 0; i < BLOCKED; i++)
		t_join(th[i]);
	CHECK(through == BLOCKED);
	CHECK(t_wait(pid) == 0);
	t_say("%d blocked without threads to spare, and ended", BLOCKED);
	return 0;
}
