/*
 * Every number below RLIMIT_NOFILE is the program's: dup2() and dup3() give it,
 * and a library that closes them all by its own instruction closes nothing that
 * is not the program's. The limit may be raised, so there is room behind it.
 */
#include "t.h"
#include <sys/resource.h>

enum { LIMIT = 200 };

static void *echo(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < 20; i++)
		t_put(fd, t_get(fd));
	return NULL;
}

static void talk(void)
{
	pthread_t th;
	int sv[2];

	t_pair(sv);
	th = t_thread(echo, &sv[1]);
	for (int i = 0; i < 20; i++) {
		t_put(sv[0], 'x');
		CHECK(t_get(sv[0]) == 'x');
	}
	t_join(th);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	struct rlimit l;
	int null = open("/dev/null", O_RDWR);

	CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
	l.rlim_cur = LIMIT;
	if (l.rlim_max < LIMIT + 64)
		t_skip("the limit cannot be raised");
	CHECK(setrlimit(RLIMIT_NOFILE, &l) == 0);
	t_be_threaded();
	talk();
	CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
	CHECK(l.rlim_cur == LIMIT);
	for (int fd = 4; fd < LIMIT; fd++)
		CHECK(dup2(null, fd) == fd);
	CHECK_ERR(dup2(null, LIMIT), EBADF);
	CHECK_ERR(dup(null), EMFILE);
	for (int fd = 4; fd < LIMIT; fd++)
		CHECK(dup3(null, fd, O_CLOEXEC) == fd);
	for (int fd = 4; fd < LIMIT; fd++)
		t_close(fd);
	talk();
	t_say("every number");
	for (long fd = 3; fd < LIMIT; fd++) {
		long r;

		__asm__ volatile("syscall"
				 : "=a"(r)
				 : "a"((long)SYS_close), "D"(fd)
				 : "rcx", "r11", "memory");
		(void)r;
	}
	for (int i = 0; i < 5; i++)
		talk();
	t_say("closed by an instruction");
	return 0;
}
