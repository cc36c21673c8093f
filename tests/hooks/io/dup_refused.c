/*
 * dup2() and dup3() that the kernel refuses close nothing: who waits by the number
 * that they name waits on, and what the process has locked stays locked.
 *
 * t-case: flags
 * t-case: limit
 */
#include "../calls.h"
#include <sys/file.h>
#include <sys/resource.h>

enum { N = 3 };

static int fd, done[2];
static char path[300];

static long waits(void *arg)
{
	(void)arg;
	return flock(fd, LOCK_EX);
}

/* Has it until it is told; then says whether somebody else has the other lock. */
static void holder(const int *begin, const int *go)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int f = open(path, O_RDWR);

	CHECK(f >= 0 && !flock(f, LOCK_EX));
	t_put(begin[1], 'b');
	t_get(go[0]);
	CHECK(!flock(f, LOCK_UN));
	t_get(go[0]);
	CHECK(!fcntl(f, F_GETLK, &l));
	t_say("the process's lock is %s",
	      l.l_type == F_UNLCK ? "gone" : "there");
	_exit(0);
}

int main(int argc, char **argv)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int begin[2], go[2], status;
	struct rlimit few;
	struct t_call c[N];
	pid_t pid;

	CHECK(argc == 2);
	snprintf(path, sizeof(path), "%s/f", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && dup2(fd, 40) == 40);
	t_close(fd);
	fd = 40;
	t_pipe(begin);
	t_pipe(go);
	t_pipe(done);
	t_be_threaded();
	pid = fork();
	if (!pid)
		holder(begin, go);
	t_get(begin[0]);
	for (int i = 0; i < N; i++)
		t_begin(&c[i], waits, NULL);
	CHECK(!fcntl(fd, F_SETLK, &l));
	if (!strcmp(argv[1], "flags")) {
		CHECK_ERR(dup3(0, fd, O_APPEND), EINVAL);
		CHECK_ERR(dup3(fd, fd, 0), EINVAL);
	} else {
		CHECK(!getrlimit(RLIMIT_NOFILE, &few));
		few.rlim_cur = 30;
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		CHECK_ERR(dup2(0, fd), EBADF);
	}
	for (int i = 0; i < N; i++)
		t_waits(&c[i]);
	t_put(go[1], 'u');
	for (int i = 0; i < N; i++)
		t_ended("flock", &c[i]);
	t_put(go[1], 'l');
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	return 0;
}
