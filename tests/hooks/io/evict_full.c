/*
 * close() under a blocked reader while no descriptor is free: it goes on waiting
 * for its file, and not for the one that has the number next. One that came too
 * late gets EBADF, or what the next file has: tried until it was in time.
 */
#include "t.h"
#include <sys/resource.h>

static void *reader(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1) == 1 && c == 'x' ? arg : NULL;
}

int main(void)
{
	struct rlimit l = { 256, 256 };
	int sv[2], next[2], fd, n, seen = 0, taken[256];
	pthread_t th;

	CHECK(setrlimit(RLIMIT_NOFILE, &l) == 0);
	t_handle(SIGPIPE, SIG_IGN, 0);
	t_be_threaded();
	t_pipe(next);
	t_close(next[1]); /* at its end: nobody waits for it */
	for (int i = 0; i < 50 && seen < 5; i++) {
		t_pair(sv);
		fd = sv[0];
		th = t_begun(reader, &fd);
		t_settle();
		for (n = 0; (taken[n] = dup(2)) >= 0; n++)
			;
		CHECK(errno == EMFILE);
		t_close(fd);
		CHECK(dup(next[0]) == fd);
		CHECK(write(sv[1], "x", 1) == 1 || errno == EPIPE);
		seen += t_join(th) != NULL;
		while (n)
			t_close(taken[--n]);
		t_close(fd);
		t_close(sv[1]);
	}
	CHECK(seen == 5);
	t_say("it had the file's data");
	return 0;
}
