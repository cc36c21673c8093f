/*
 * Who splices from a pipe, or tees, waits before who reads from it, though it comes last:
 * wait_event_interruptible() of pipe_wait_readable(). So for room in a pipe, before who
 * writes. Natively both wake up, in that order, and as the processors are busy or not
 * either may be the faster; here nobody but the first does.
 *
 * t-case: splice
 * t-case: vmsplice
 */
#include "t.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

enum { ROUNDS = 40 };

static int fd[2], out[2];
static bool fills;
static atomic_int spliced, plain;

static void *splices(void *arg)
{
	char c = 's';
	struct iovec v = { &c, 1 };
	ssize_t r = fills ? vmsplice(fd[1], &v, 1, 0) :
			    splice(fd[0], NULL, out[1], NULL, 1, 0);

	CHECK(r == 1);
	atomic_fetch_add(&spliced, 1);
	return arg;
}

static void *waits(void *arg)
{
	char c = 'p';

	CHECK((fills ? write(fd[1], &c, 1) : read(fd[0], &c, 1)) == 1);
	atomic_fetch_add(&plain, 1);
	return arg;
}

/* One byte, or room for one. */
static void give(void)
{
	char page[4096];

	if (fills)
		CHECK(read(fd[0], page, sizeof(page)) > 0);
	else
		t_put(fd[1], 'x');
}

int main(int argc, char **argv)
{
	char page[4096] = { 0 };
	pthread_t th[2];
	int first = 0;

	CHECK(argc == 2);
	fills = !strcmp(argv[1], "vmsplice");
	for (int i = 0; i < ROUNDS; i++) {
		t_pipe(fd);
		t_pipe(out);
		if (fills) {
			CHECK(fcntl(fd[1], F_SETPIPE_SZ, 4096) == 4096);
			t_write(fd[1], page, sizeof(page));
		}
		atomic_store(&spliced, 0);
		atomic_store(&plain, 0);
		th[0] = t_thread(waits, NULL);
		t_settle();
		th[1] = t_thread(splices, NULL);
		t_settle();
		give();
		while (!atomic_load(&spliced) && !atomic_load(&plain))
			t_settle();
		first += atomic_load(&spliced);
		give();
		t_join(th[0]);
		t_join(th[1]);
		for (int k = 0; k < 2; k++) {
			t_close(fd[k]);
			t_close(out[k]);
		}
	}
	CHECK(first > ROUNDS / 8 || !getenv("T_HOOKED"));
	t_say("all are served");
	return 0;
}
