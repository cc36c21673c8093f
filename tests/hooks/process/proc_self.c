/*
 * /proc/self/task lists the program's threads, /proc/self/fd and its like its
 * descriptors: by readdir, again after rewinddir, by getdents64 with hardly any room, and by a
 * number that was another folder's.
 */
#include "t.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define THREADS 7

static pid_t tid[THREADS];
static pthread_barrier_t ready, leave;

static void *stay(void *arg)
{
	tid[(long)arg] = gettid();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&leave);
	return NULL;
}

/* How many of @want are in the directory, and how many entries it has. */
static void look(DIR *d, const pid_t *want, int n, int *found, int *all)
{
	struct dirent *e;

	*found = *all = 0;
	errno = 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		CHECK(e->d_type == DT_DIR);
		++*all;
		for (int i = 0; i < n; i++)
			*found += atoi(e->d_name) == want[i];
	}
	CHECK(errno == 0);
}

static int raw_entries(size_t room)
{
	char buf[256];
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY), n = 0;
	long r;

	CHECK(fd >= 0);
	CHECK_ERR(syscall(SYS_getdents64, fd, buf, 8), EINVAL);
	while ((r = syscall(SYS_getdents64, fd, buf, room)) > 0)
		for (long at = 0; at < r; n++)
			at += ((struct dirent64 *)(buf + at))->d_reclen;
	CHECK(r == 0);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_ERR(syscall(SYS_getdents64, fd, (void *)8, room), EFAULT);
	t_close(fd);
	CHECK_ERR(syscall(SYS_getdents64, fd, buf, room), EBADF);
	return n;
}

enum { LISTS = 4 };
static const char *const lists[LISTS] = { "/proc/self/fd", "/proc/self/fdinfo",
					  "/proc/thread-self/fd",
					  "/proc/thread-self/fdinfo" };

static int open_fds(const char *list)
{
	DIR *d = opendir(list);
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n++;
	closedir(d);
	return n;
}

static int entries(int fd)
{
	char buf[4096];
	int n = 0;
	long r;

	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while ((r = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < r; n++)
			at += ((struct dirent64 *)(buf + at))->d_reclen;
	CHECK(r == 0);
	return n;
}

/* A number that was another folder's, which has been listed, and its file was looked at. */
static int by_used_number(const char *other, const char *list)
{
	int fd = open(other, O_RDONLY | O_DIRECTORY), tasks, n;
	struct stat st;

	CHECK(fd >= 0 && !fstat(fd, &st) && entries(fd) > 1);
	tasks = open(list, O_RDONLY | O_DIRECTORY);
	CHECK(tasks >= 0 && !fstat(tasks, &st) && dup2(tasks, fd) == fd);
	t_close(tasks);
	n = entries(fd);
	t_close(fd);
	return n;
}

int main(void)
{
	pthread_t th[THREADS];
	int found, all, before[LISTS], fd;
	char buf[64];
	DIR *d;

	for (int i = 0; i < LISTS; i++)
		before[i] = open_fds(lists[i]);
	CHECK_0(pthread_barrier_init(&ready, NULL, THREADS + 1));
	CHECK_0(pthread_barrier_init(&leave, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		th[i] = t_thread(stay, (void *)i);
	pthread_barrier_wait(&ready);
	d = opendir("/proc/self/task");
	CHECK(d);
	look(d, tid, THREADS, &found, &all);
	t_say("%d threads, %d of mine", all, found);
	rewinddir(d);
	look(d, (pid_t[]){ getpid() }, 1, &found, &all);
	t_say("%d threads, %d of them first", all, found);
	t_say("by three: %d", raw_entries(80));
	t_say("by one: %d", raw_entries(40));
	for (int i = 0; i < LISTS; i++)
		t_say("%s: %d more", lists[i], open_fds(lists[i]) - before[i]);
	t_say("by used numbers: %d %d", by_used_number("/", "/proc/self/task"),
	      by_used_number("/dev", "/proc/self/task"));
	pthread_barrier_wait(&leave);
	for (int i = 0; i < THREADS; i++)
		t_join(th[i]);
	/* The kernel's threads take a moment to go, after join. */
	do {
		sched_yield();
		rewinddir(d);
		look(d, tid, THREADS, &found, &all);
	} while (all > 1);
	t_say("%d thread, %d of mine", all, found);
	closedir(d);
	fd = open("/proc/self/status", O_RDONLY);
	CHECK(fd >= 0);
	CHECK_ERR(syscall(SYS_getdents64, fd, buf, sizeof(buf)), ENOTDIR);
	return 0;
}
