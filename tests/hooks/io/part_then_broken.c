/*
 * pwritev2() with a flag to a pipe whose reader leaves after a part: the part is the
 * result, and SIGPIPE is that thread's, once.
 *
 * t-case: handled
 * t-case: blocked
 */
#include "../calls.h"

static int p[2];
static atomic_int broken;
static pthread_t at;

static void on_pipe(int sig)
{
	(void)sig;
	at = pthread_self();
	atomic_fetch_add(&broken, 1);
}

static long writes(void *blocked)
{
	static char b[300000];
	struct iovec v = { b, sizeof(b) };
	struct timespec none = { 0, 0 };
	sigset_t set;
	long r;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	if (blocked)
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	r = pwritev2(p[1], &v, 1, -1, RWF_HIPRI);
	if (blocked)
		t_say("taken: %d", sigtimedwait(&set, NULL, &none) == SIGPIPE);
	else
		t_say("handled %d, here: %d", atomic_load(&broken),
		      atomic_load(&broken) &&
			      pthread_equal(at, pthread_self()));
	return r;
}

int main(int argc, char **argv)
{
	struct t_call c;
	char b[4096];

	CHECK(argc == 2);
	t_handle(SIGPIPE, on_pipe, 0);
	t_be_threaded();
	t_pipe(p);
	t_begin(&c, writes, strcmp(argv[1], "blocked") ? NULL : p);
	t_read(p[0], b, sizeof(b));
	t_waits(&c);
	t_close(p[0]);
	t_ended("written", &c);
	return 0;
}
