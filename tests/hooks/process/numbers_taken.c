/*
 * A program that closes all numbers it does not know by an instruction of its
 * own (closefrom, where no call of libc's is to be made): the lowest is free from then
 * on. Then it opens files until it has them all: nothing is ever written to these but by
 * itself. What the library had there is lost, and the threads go on.
 *
 * It starts again with the limit that it needs: then it begins with it.
 *
 * t-case: 200
 * t-case: 1024
 * t-no-stats: their file is among those that are closed
 */
#include "t.h"
#include <sys/resource.h>
#include <sys/stat.h>

#define ROUNDS	30
#define THREADS 8
#define LOOK	(100 * T_MS)

static long own_close(int fd)
{
	long r;

	/* with its number beside it: it stays what it is */
	__asm__ volatile("movl %1, %%eax\n\tsyscall"
			 : "=&a"(r)
			 : "i"(SYS_close), "D"((long)fd)
			 : "rcx", "r11", "memory");
	return r;
}

static void with_limit(char **argv)
{
	rlim_t n = (rlim_t)atoi(argv[1]);
	struct rlimit lim;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_max == n && lim.rlim_cur == n)
		return;
	lim = (struct rlimit){ n, n };
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	execv("/proc/self/exe", argv);
	CHECK(!"exec");
}

static sem_t to, from;

static void *answer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec ts = { 0, 1000000 };

		t_down(&to);
		/* others wake up meanwhile, and the workers sleep */
		nanosleep(&ts, NULL);
		CHECK(sem_post(&from) == 0);
	}
	return arg;
}

static void look_at_lowest(void)
{
	for (long long end = t_now() + LOOK; t_now() < end;) {
		int fd = dup(1);

		CHECK(fd == 3);
		t_close(fd);
	}
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	struct stat st;
	int limit = atoi(argv[1]), fd;
	char name[] = "/tmp/numbers_taken.XXXXXX";

	CHECK(argc == 2);
	with_limit(argv);
	CHECK(sem_init(&to, 0, 0) == 0 && sem_init(&from, 0, 0) == 0);
	for (int i = 0; i < THREADS; i++)
		t[i] = t_thread(answer, NULL);
	for (fd = 3; fd < limit; fd++)
		own_close(fd);
	look_at_lowest();
	fd = mkstemp(name);
	CHECK(fd == 3 && unlink(name) == 0);
	/* one file behind all numbers: whatever is written anywhere is found */
	while (dup(fd) >= 0)
		;
	CHECK(errno == EMFILE);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < THREADS; k++)
			CHECK(sem_post(&to) == 0);
		for (int k = 0; k < THREADS; k++)
			t_down(&from);
	}
	for (int i = 0; i < THREADS; i++)
		t_join(t[i]);
	CHECK(fstat(fd, &st) == 0);
	t_say("%d bytes", (int)st.st_size);
	return 0;
}
