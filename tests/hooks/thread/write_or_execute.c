/*
 * No page is writable and executable, in this process or in one that is forked
 * from it, while libraries come and go that enter the kernel by themselves.
 */
#include "t.h"
#include <dlfcn.h>
#include <linux/futex.h>

enum { LOADS = 100, TEXT = 1 << 18 };

static const char *lib;
static _Atomic int over, looks;

/* Reads all of it at once, so that it is of one moment. */
static int any_wx(char *text)
{
	int fd = open("/proc/self/maps", O_RDONLY), wx = 0;
	ssize_t n, len = 0;

	CHECK(fd >= 0);
	while ((n = read(fd, text + len, TEXT - 1 - (size_t)len)) > 0)
		len += n;
	t_close(fd);
	text[len] = 0;
	for (char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		/* 7f0000000000-7f0000001000 rwxp */
		char *perm = strchr(p, ' ');

		if (!perm)
			break;
		wx |= perm[2] == 'w' && perm[3] == 'x';
	}
	return wx;
}

static char *buffer(void)
{
	char *p = malloc(TEXT);

	CHECK(p);
	return p;
}

static void *polls(void *arg)
{
	char *text = buffer();

	while (!over) {
		CHECK(!any_wx(text));
		looks++;
	}
	free(text);
	return arg;
}

static void *forks(void *arg)
{
	char *text = buffer();

	while (!over) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(any_wx(text));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		looks++;
	}
	free(text);
	return arg;
}

static long (*own_futex)(uint32_t *, int, uint32_t);
static uint32_t word;

static void *waits(void *arg)
{
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		own_futex(&word, FUTEX_WAIT_PRIVATE, 0);
	return arg;
}

static void load(void)
{
	void *h = dlopen(lib, RTLD_NOW);
	pthread_t th;

	CHECK(h);
	own_futex = (long (*)(uint32_t *, int, uint32_t))dlsym(h, "own_futex");
	CHECK(own_futex);
	word = 0;
	th = t_small_thread(waits, NULL);
	sched_yield();
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	CHECK(own_futex(&word, FUTEX_WAKE_PRIVATE, 1) >= 0);
	t_join(th);
	CHECK(dlclose(h) == 0);
}

int main(void)
{
	char path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	pthread_t a, b;

	CHECK(n > 0);
	path[n] = 0;
	strcpy(strrchr(path, '/'), "/../../support/libtfutex.so");
	lib = path;
	CHECK(!any_wx(buffer()));
	a = t_thread(polls, NULL);
	b = t_thread(forks, NULL);
	for (int i = 0; i < LOADS || looks < LOADS; i++)
		load();
	over = 1;
	t_join(a);
	t_join(b);
	t_say("never");
	return 0;
}
