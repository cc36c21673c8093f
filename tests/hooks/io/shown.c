/*
 * fstat(), by which the library learns what a number is: of each kind of file, and of
 * numbers that become other files meanwhile.
 */
#include <stdbool.h>
#include <sys/resource.h>
#include "t.h"

static int number;
static _Atomic bool ends;

static mode_t kind_of(int fd)
{
	struct stat st, by_path;

	CHECK(!fstat(fd, &st));
	CHECK(!fstatat(fd, "", &by_path, AT_EMPTY_PATH));
	CHECK(st.st_ino == by_path.st_ino && st.st_mode == by_path.st_mode);
	return st.st_mode & S_IFMT;
}

static void kinds(void)
{
	int file = open("/bin/sh", O_RDONLY), dir = open("/", O_RDONLY),
	    null = open("/dev/null", O_RDWR), p[2], pair[2];
	char c;

	t_pipe(p);
	t_pair(pair);
	CHECK(kind_of(file) == S_IFREG && read(file, &c, 1) == 1);
	CHECK(kind_of(dir) == S_IFDIR);
	CHECK_ERR(read(dir, &c, 1), EISDIR);
	CHECK(kind_of(null) == S_IFCHR && read(null, &c, 1) == 0);
	CHECK(kind_of(p[0]) == S_IFIFO && kind_of(pair[0]) == S_IFSOCK);
	t_put(p[1], 'p');
	t_put(pair[1], 's');
	CHECK(t_get(p[0]) == 'p' && t_get(pair[0]) == 's');
	CHECK_ERR(fstat(-1, &(struct stat){ 0 }), EBADF);
	CHECK_ERR(fstat(file, (struct stat *)8), EFAULT);
	CHECK_ERR(fstatat(file, "x", &(struct stat){ 0 }, AT_EMPTY_PATH),
		  ENOTDIR);
	for (int i = 0; i < 2; i++) {
		t_close(p[i]);
		t_close(pair[i]);
	}
	t_close(file);
	t_close(dir);
	t_close(null);
}

/* Who looks for open descriptors among all there may be takes no memory for that. */
static void many(void)
{
	struct rusage before, after;
	struct stat st;
	int found = 0;

	CHECK(!getrusage(RUSAGE_SELF, &before));
	for (int fd = 1000; fd < 1000000; fd++)
		found += !fstat(fd, &st);
	/* Of the library, some. */
	CHECK(found < 64);
	CHECK(!getrusage(RUSAGE_SELF, &after));
	CHECK(after.ru_maxrss < before.ru_maxrss + 8192);
}

static void *asks(void *arg)
{
	struct stat st;

	while (!ends)
		CHECK(!fstat(number, &st) || errno == EBADF);
	return arg;
}

static void *writes(void *arg)
{
	t_settle();
	t_put(*(int *)arg, 'x');
	return NULL;
}

/* It waits for a byte, as a pipe does and a file does not. */
static void is_pipe(void)
{
	struct pollfd of = { number, POLLIN, 0 };
	pthread_t th;
	int p[2];

	t_pipe(p);
	CHECK(dup2(p[0], number) == number);
	t_close(p[0]);
	CHECK(poll(&of, 1, 0) == 0 && poll(&of, 1, 1) == 0);
	th = t_thread(writes, &p[1]);
	CHECK(poll(&of, 1, -1) == 1 && of.revents == POLLIN);
	CHECK(t_get(number) == 'x');
	t_join(th);
	t_close(p[1]);
}

static void changes(void)
{
	pthread_t th;

	number = open("/bin/sh", O_RDONLY);
	th = t_thread(asks, NULL);
	for (int i = 0; i < 50; i++) {
		int file = open("/bin/sh", O_RDONLY);
		char c;

		CHECK(file >= 0 && dup2(file, number) == number);
		CHECK(pread(number, &c, 1, 0) == 1 && read(number, &c, 1) == 1);
		t_close(file);
		is_pipe();
	}
	ends = true;
	t_join(th);
}

int main(void)
{
	t_be_threaded();
	kinds();
	t_say("kinds");
	many();
	t_say("many");
	changes();
	t_say("changes");
	return 0;
}
