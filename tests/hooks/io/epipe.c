/* EPIPE, with SIGPIPE ignored, handled, and held off by MSG_NOSIGNAL. */
#include "t.h"

static __thread int mine;
static int handled, in_thread;

static void on_pipe(int sig)
{
	(void)sig;
	handled++;
	in_thread += mine;
}

static void *write_into_void(void *arg)
{
	int p[2], sv[2];

	(void)arg;
	mine = 1;
	t_pipe(p);
	t_pair(sv);
	t_close(p[0]);
	t_close(sv[0]);
	CHECK_ERR(send(sv[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERR(write(p[1], "x", 1), EPIPE);
	CHECK_ERR(write(sv[1], "x", 1), EPIPE);
	CHECK_ERR(send(sv[1], "x", 1, 0), EPIPE);
	t_close(p[1]);
	t_close(sv[1]);
	return NULL;
}

/* The reader goes away while the writer is blocked in a full pipe. */
static void *fill(void *arg)
{
	static char b[1 << 20];
	ssize_t n;

	do
		n = write(*(int *)arg, b, sizeof(b));
	while (n > 0);
	CHECK(n == -1);
	CHECK(errno == EPIPE);
	return NULL;
}

int main(void)
{
	pthread_t th;
	int p[2];

	t_handle(SIGPIPE, SIG_IGN, 0);
	t_join(t_thread(write_into_void, NULL));
	t_say("ignored: EPIPE");
	t_pipe(p);
	th = t_thread(fill, &p[1]);
	t_settle();
	t_close(p[0]);
	t_join(th);
	t_pair(p);
	th = t_thread(fill, &p[1]);
	t_settle();
	t_close(p[0]);
	t_join(th);
	t_say("reader gone while the writer is blocked: EPIPE");
	t_handle(SIGPIPE, on_pipe, 0);
	t_join(t_thread(write_into_void, NULL));
	t_say("handled %d times, %d in the writing thread", handled, in_thread);
	return 0;
}
