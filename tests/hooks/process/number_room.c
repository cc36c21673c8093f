/*
 * A high RLIMIT_NOFILE costs nothing: the table of descriptors, which each fork copies,
 * has room for what is open, and not for some numbers just below the limit. All numbers are
 * the program's even so.
 *
 * It starts again with the limit that it needs: then it begins with it.
 *
 * t-case: hard
 * t-case: soft
 */
#include "t.h"
#include <sys/resource.h>

#define MANY 1500

static void with_limit(char **argv)
{
	struct rlimit lim;
	rlim_t soft;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_max < 16384)
		t_skip("RLIMIT_NOFILE cannot be high");
	soft = strcmp(argv[1], "soft") ? lim.rlim_max : lim.rlim_max - 64;
	if (lim.rlim_cur == soft)
		return;
	lim.rlim_cur = soft;
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	execv("/proc/self/exe", argv);
	CHECK(!"exec");
}

static void *answer(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) == 1)
		t_put(fd, (char)(c + 1));
	return arg;
}

int main(int argc, char **argv)
{
	static int fd[MANY];
	pthread_t th;
	int sv[2], file;

	CHECK(argc == 2);
	with_limit(argv);
	t_pair(sv);
	th = t_thread(answer, &sv[1]);
	t_put(sv[0], 'a');
	CHECK(t_get(sv[0]) == 'b');
	CHECK(t_status("FDSize") <= 4096);
	file = open("/dev/null", O_RDONLY);
	CHECK(file >= 0);
	for (int i = 0; i < MANY; i++) {
		fd[i] = dup(file);
		CHECK(fd[i] > 0);
		t_put(sv[0], 'c');
		CHECK(t_get(sv[0]) == 'd');
	}
	for (int i = 0; i < MANY; i++)
		t_close(fd[i]);
	for (int to = 1000; to < 1100; to++) {
		CHECK(dup2(file, to) == to);
		t_put(sv[0], 'e');
		CHECK(t_get(sv[0]) == 'f');
	}
	for (int to = 1000; to < 1100; to++) {
		char c;

		CHECK(read(to, &c, 1) == 0);
		t_close(to);
	}
	CHECK(shutdown(sv[0], SHUT_WR) == 0);
	t_join(th);
	t_say("all are its own");
	return 0;
}
