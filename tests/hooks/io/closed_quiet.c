/*
 * A number is closed while a thread waits for its file: when that wait is over as
 * well, and nobody does anything, nobody wakes up either.
 */
#include "t.h"
#include <sys/resource.h>

enum { WAIT_MS = 100, TURNS = WAIT_MS / 5 };

static void *reader(void *arg)
{
	char c;

	/* It has waited, mostly: or the number was closed before. */
	if (read(*(int *)arg, &c, 1) != 1)
		CHECK(errno == EBADF);
	return arg;
}

static long turns(void)
{
	struct rusage ru;

	CHECK(getrusage(RUSAGE_SELF, &ru) == 0);
	return ru.ru_nvcsw;
}

int main(void)
{
	struct timespec ts = t_ts(WAIT_MS * T_MS);
	int p[2], fd;
	pthread_t th;
	long before;

	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	t_pipe(p);
	fd = p[0];
	th = t_thread(reader, &fd);
	t_settle();
	CHECK(close(p[0]) == 0);
	if (write(p[1], "x", 1) != 1)
		CHECK(errno == EPIPE);
	t_join(th);
	CHECK_ERR(write(p[1], "x", 1), EPIPE);
	/* At some time: a machine under load has its own reasons. */
	do {
		before = turns();
		CHECK_0(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	} while (turns() - before >= TURNS);
	t_say("quiet");
	return 0;
}
