/* flock and fcntl record locks that make a thread wait for another. */
#include "t.h"
#include <sys/file.h>

enum { N = 6, TURNS = 30 };

static char path[PATH_MAX];
static int inside, most;

static void hold(void)
{
	int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);

	if (now > most)
		most = now;
	sched_yield();
	__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

static void *by_flock(void *arg)
{
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	for (int i = 0; i < TURNS; i++) {
		CHECK(flock(fd, LOCK_EX) == 0);
		hold();
		CHECK(flock(fd, LOCK_UN) == 0);
	}
	t_close(fd);
	return arg;
}

static void *by_ofd(void *arg)
{
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	for (int i = 0; i < TURNS; i++) {
		struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

		CHECK(fcntl(fd, F_OFD_SETLKW, &fl) == 0);
		hold();
		fl.l_type = F_UNLCK;
		fl.l_pid = 0;
		CHECK(fcntl(fd, F_OFD_SETLK, &fl) == 0);
	}
	t_close(fd);
	return arg;
}

static void all(const char *what, void *(*fn)(void *))
{
	pthread_t th[N];

	most = 0;
	for (int i = 0; i < N; i++)
		th[i] = t_thread(fn, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%s: at most %d inside", what, most);
}

static void *wait_for_child(void *arg)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	CHECK(fcntl(*(int *)arg, F_SETLKW, &fl) == 0);
	return NULL;
}

int main(void)
{
	int fd, p[2], q[2];
	pthread_t th;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	all("flock", by_flock);
	all("open file description locks", by_ofd);
	t_pipe(p);
	t_pipe(q);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

		CHECK(fcntl(fd, F_SETLK, &fl) == 0);
		t_put(p[1], 'l');
		CHECK(t_get(q[0]) == 'g');
		_exit(0);
	}
	CHECK(t_get(p[0]) == 'l');
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	CHECK_ERR(fcntl(fd, F_SETLK, &fl), EAGAIN);
	th = t_thread(wait_for_child, &fd);
	t_settle();
	t_put(q[1], 'g');
	t_join(th);
	t_wait_ok(pid);
	t_say("record lock handed over by a child's exit");
	return 0;
}
