/* sendfile() to a socket: parts, and what breaks it. */
#include "../calls.h"
#include <sys/sendfile.h>

#define SIZE (16l << 20)

static int in;
static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static long sends(void *arg)
{
	off_t at = 0;
	long r = sendfile(*(int *)arg, in, &at, SIZE);

	CHECK(r < 0 || at == r);
	return r < 0 ? r : r == SIZE ? 2 : r > 0;
}

static void run(const char *what, int sv[2], void (*then)(int sv[2]))
{
	struct t_call c;
	char text[64];

	pipes = 0;
	t_begin(&c, sends, &sv[0]);
	then(sv);
	t_ended(what, &c);
	snprintf(text, sizeof(text), "%s, SIGPIPE", what);
	t_result(text, pipes);
	t_close(sv[0]);
	close(sv[1]);
}

static void shut(int sv[2])
{
	CHECK(shutdown(sv[0], SHUT_WR) == 0);
}

static void reset(int sv[2])
{
	t_close(sv[1]);
}

static void take_all(int sv[2])
{
	static char b[1 << 16];
	long n = 0, r;

	while (n < SIZE && (r = read(sv[1], b, sizeof(b))) > 0)
		n += r;
	CHECK(n == SIZE);
}

static void tcp(int sv[2])
{
	t_tcp_pair(sv);
}

static void limited(int sv[2])
{
	struct timeval tv = { 0, 100000 };

	t_tcp_pair(sv);
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0);
}

/* A limit below 0: no call waits. */
static void impatient(int sv[2])
{
	struct timeval tv = { -1, 0 };

	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == 0);
}

static void nothing(int sv[2])
{
	(void)sv;
}

int main(void)
{
	int sv[2];

	t_handle(SIGPIPE, on_pipe, SA_RESTART);
	in = memfd_create("in", 0);
	CHECK(ftruncate(in, SIZE) == 0);
	t_be_threaded();
	tcp(sv);
	run("tcp, all", sv, take_all);
	tcp(sv);
	run("tcp, shut", sv, shut);
	tcp(sv);
	run("tcp, closed by the peer", sv, reset);
	limited(sv);
	run("tcp, time limit", sv, nothing);
	tcp(sv);
	impatient(sv);
	run("tcp, does not wait", sv, nothing);
	t_pair(sv);
	impatient(sv);
	run("unix, does not wait", sv, nothing);
	t_pair(sv);
	run("unix, all", sv, take_all);
	t_pair(sv);
	run("unix, shut", sv, shut);
	t_pair(sv);
	run("unix, closed by the peer", sv, reset);
	t_pair(sv);
	shut(sv);
	run("unix, shut before", sv, nothing);
	return 0;
}
