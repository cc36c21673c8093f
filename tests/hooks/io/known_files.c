/*
 * What is known to be a file, since statx() has said so, or it has just been made, is read
 * and written as one; and what takes its number later is what it is.
 */
#include "t.h"
#include <linux/memfd.h>
#include <sys/sysmacros.h>

static int sv[2];

static void *answer(void *arg)
{
	char c;

	CHECK(read(sv[1], &c, 1) == 1 && write(sv[1], "y", 1) == 1);
	return arg;
}

/* It waits, for a thread of the process. */
static void a_pair_takes(int number)
{
	pthread_t th;
	char c;

	t_pair(sv);
	if (sv[0] != number) {
		CHECK(dup2(sv[0], number) == number);
		t_close(sv[0]);
	}
	th = t_thread(answer, NULL);
	CHECK(write(number, "x", 1) == 1);
	CHECK(read(number, &c, 1) == 1 && c == 'y');
	t_join(th);
	t_close(number);
	t_close(sv[1]);
}

static void use(const char *what, int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	char c[8] = { 0 };

	CHECK(write(fd, "abcdef", 6) == 6);
	CHECK(lseek(fd, 1, SEEK_SET) == 1);
	CHECK(read(fd, c, 3) == 3 && !strcmp(c, "bcd"));
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	CHECK(read(fd, c, 8) == 2 && read(fd, c, 8) == 0);
	CHECK(fcntl(fd, F_GETFL) & O_RDWR);
	t_close(fd);
	a_pair_takes(fd);
	t_say("%s", what);
}

static void ask(const char *what, int fd)
{
	struct statx x;
	struct stat st;

	memset(&x, 0xff, sizeof(x));
	CHECK(!statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x));
	CHECK(!fstat(fd, &st));
	CHECK(x.stx_mode == st.st_mode && x.stx_ino == st.st_ino);
	CHECK(makedev(x.stx_dev_major, x.stx_dev_minor) == st.st_dev);
	CHECK((off_t)x.stx_size == st.st_size && !x.__spare0[0]);
	t_say("%s: %o", what, x.stx_mode & S_IFMT);
}

int main(void)
{
	char name[] = "/tmp/known-XXXXXX";
	void *none = (void *)8;
	struct statx x;
	int fd, p[2];
	char c;

	t_be_threaded();
	a_pair_takes(30);
	use("memory", memfd_create("m", MFD_CLOEXEC));
	CHECK_ERR(memfd_create("m", ~0u), EINVAL);
	CHECK_ERR(memfd_create(none, 0), EFAULT);
	fd = mkstemp(name);
	CHECK(fd >= 0);
	use("made", fd);
	CHECK_ERR(open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	fd = open(name, O_RDWR);
	ask("a file", fd);
	use("asked", fd);
	fd = open("/", O_RDONLY);
	ask("a folder", fd);
	CHECK_ERR(read(fd, &c, 1), EISDIR);
	t_close(fd);
	CHECK(!pipe(p) && write(p[1], "x", 1) == 1);
	ask("a pipe", p[0]);
	CHECK(read(p[0], &c, 1) == 1);
	fd = open("/dev/zero", O_RDONLY);
	ask("a device", fd);
	CHECK(read(fd, &c, 1) == 1 && !c);
	t_close(fd);
	fd = open(name, O_RDONLY);
	CHECK_ERR(statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, none), EFAULT);
	CHECK_ERR(statx(fd, "", AT_EMPTY_PATH, 1u << 31, &x), EINVAL);
	CHECK_ERR(statx(fd, "", 0, STATX_TYPE, &x), ENOENT);
	CHECK_ERR(statx(200, "", AT_EMPTY_PATH, STATX_TYPE, &x), EBADF);
	CHECK(!statx(AT_FDCWD, name, 0, STATX_TYPE, &x) && S_ISREG(x.stx_mode));
	t_close(fd);
	CHECK(!unlink(name));
	return 0;
}
