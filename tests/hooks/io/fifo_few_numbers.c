/*
 * Threads wait in open() for the writer of a FIFO, more than there are workers, and the
 * program has lowered its limit of descriptors: each has its number, and all others
 * are the program's.
 */
#include "../calls.h"
#include <sys/resource.h>

enum { OPENS = 20, LIMIT = 40 };

static char path[PATH_MAX];

static long opens(void *arg)
{
	(void)arg;
	return open(path, O_RDONLY);
}

int main(void)
{
	struct rlimit l;
	static struct t_call c[OPENS];
	int fd, low, last = -1, most = -1;

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	t_be_threaded();
	CHECK_0(getrlimit(RLIMIT_NOFILE, &l));
	l.rlim_cur = LIMIT;
	CHECK_0(setrlimit(RLIMIT_NOFILE, &l));
	low = dup(0);
	t_close(low);
	for (int i = 0; i < OPENS; i++) {
		t_begin(&c[i], opens, NULL);
		t_waits(&c[i]);
	}
	fd = open(path, O_RDWR);
	t_say("the lowest that is free: %d", fd - low);
	for (int i = 0; i < OPENS; i++) {
		int r = (int)t_end(&c[i]);

		CHECK(r >= 0);
		most = r > most ? r : most;
	}
	t_say("the highest that waited: %d", most - low);
	while ((fd = dup(0)) >= 0) {
		CHECK(last < 0 || fd == last + 1);
		last = fd;
	}
	CHECK(errno == EMFILE);
	t_say("the last: %d", last);
	return 0;
}
