/*
 * Two ask for a file whole, by descriptions of their own, of which the second has read locks
 * itself: what the first one waits for is the second one's, so that one is served first.
 */
#include "../calls.h"

static char path[PATH_MAX];

static long lock(int fd, short type, int cmd)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET };

	return fcntl(fd, cmd, &l);
}

static long wants_all(void *fd)
{
	return lock(*(int *)fd, F_WRLCK, F_OFD_SETLKW);
}

int main(void)
{
	struct t_call first, second;
	int fd[3];

	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	for (int i = 0; i < 3; i++) {
		fd[i] = open(path, O_RDWR | O_CREAT, 0600);
		CHECK(fd[i] >= 0);
	}
	t_be_threaded();
	CHECK(!lock(fd[0], F_RDLCK, F_OFD_SETLK));
	CHECK(!lock(fd[2], F_RDLCK, F_OFD_SETLKW));
	t_begin(&first, wants_all, &fd[1]);
	t_begin(&second, wants_all, &fd[2]);
	t_waits(&first);
	t_waits(&second);
	CHECK(!lock(fd[0], F_UNLCK, F_OFD_SETLK));
	t_ended("second", &second);
	t_waits(&first);
	CHECK(!lock(fd[2], F_UNLCK, F_OFD_SETLK));
	t_ended("first", &first);
	return 0;
}
