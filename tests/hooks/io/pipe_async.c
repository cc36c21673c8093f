/*
 * A pipe of whose one end a signal tells (O_ASYNC): how many come while somebody waits at
 * the other one, and what has come when all is over.
 *
 * t-chaos-but idle_kick: a write that goes on tells again
 */
#include "../calls.h"

enum { MUCH = 200000 };

static sigset_t told;

static long writes(void *fd)
{
	static char b[MUCH];

	return write(*(int *)fd, b, sizeof(b));
}

static long reads(void *fd)
{
	char b[8];

	return read(*(int *)fd, b, sizeof(b));
}

/* Real-time signals, each of which is queued. */
static void be_told(int fd)
{
	CHECK(!fcntl(fd, F_SETOWN, getpid()));
	CHECK(!fcntl(fd, F_SETSIG, SIGRTMIN));
	CHECK(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
}

static int came(void)
{
	struct timespec now = { 0, 0 };
	int n = 0;

	while (sigtimedwait(&told, NULL, &now) == SIGRTMIN)
		n++;
	return n;
}

int main(void)
{
	static char b[MUCH];
	struct t_call c;
	int p[2];

	sigemptyset(&told);
	sigaddset(&told, SIGRTMIN);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &told, NULL));
	t_be_threaded();

	t_pipe(p);
	be_told(p[0]);
	t_begin(&c, writes, &p[1]);
	t_waits(&c);
	t_say("while a write waits: %d", came());
	t_read(p[0], b, sizeof(b));
	t_ended("write", &c);
	came(); /* by how it was read */

	t_pipe(p);
	be_told(p[1]);
	t_begin(&c, reads, &p[0]);
	t_waits(&c);
	t_say("while a read waits: %d", came());
	t_put(p[1], 'x');
	t_ended("read", &c);
	t_say("then: %d", came());
	return 0;
}
