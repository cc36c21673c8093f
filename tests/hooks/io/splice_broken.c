/*
 * splice from a socket in which nothing has come, to a pipe that nobody reads: EPIPE and
 * SIGPIPE at once.
 */
#include "../calls.h"

static int tcp[2], un[2];
static atomic_int signals;

static void on_pipe(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals, 1);
}

static long splices(void *arg)
{
	const int *fd = arg;

	return splice(fd[0], NULL, fd[1], NULL, 100, 0);
}

static void try(const char *what, int from)
{
	struct t_call c;
	int p[2];

	t_pipe(p);
	t_close(p[0]);
	t_begin(&c, splices, (int[]){ from, p[1] });
	t_ended("nobody reads", &c);
	t_say("%s: %d signals", what, signals);
}

int main(void)
{
	t_handle(SIGPIPE, on_pipe, SA_RESTART);
	t_tcp_pair(tcp);
	t_pair(un);
	try("TCP", tcp[0]);
	try("unix", un[0]);
	return 0;
}
