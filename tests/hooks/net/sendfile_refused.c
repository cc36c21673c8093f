/*
 * sendfile() of what cannot be sent, or has no size, to a socket however full it is: what
 * is wrong comes before there is room.
 */
#include "../calls.h"
#include <sys/resource.h>
#include <sys/sendfile.h>

enum { LEVELS = 200, STEP = 1024, MOST = 20, QUIET = 20 };

static int in;

static long sends(void *arg)
{
	return sendfile(*(int *)arg, in, NULL, MOST);
}

/* How many of @n it took. */
static int fill(int fd, int n)
{
	static const char b[STEP];
	int took = 0;

	while (took < n && send(fd, b, sizeof(b), MSG_DONTWAIT) > 0)
		took++;
	return took;
}

/* What has gone to the other end by now leaves room behind: until none is left for long. */
static void fill_up(int fd)
{
	for (int quiet = 0; quiet < QUIET; quiet++) {
		if (fill(fd, INT_MAX))
			quiet = 0;
		t_settle();
	}
}

static void open_file(const char *path)
{
	in = open(path, O_RDONLY);
	CHECK(in >= 0);
}

static void refused(const char *path)
{
	int size = 64 << 10, sv[2];

	open_file(path);
	for (int i = 0; i < LEVELS; i++) {
		t_tcp_pair(sv);
		CHECK(setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size,
				 sizeof(size)) == 0 &&
		      setsockopt(sv[1], SOL_SOCKET, SO_RCVBUF, &size,
				 sizeof(size)) == 0);
		fill(sv[0], i);
		CHECK_ERR(sends(&sv[0]), EINVAL);
		t_close(sv[0]);
		t_close(sv[1]);
	}
	t_pair(sv);
	fill(sv[0], INT_MAX);
	CHECK_ERR(sends(&sv[0]), EINVAL);
	t_close(sv[0]);
	t_close(sv[1]);
	t_close(in);
	t_say("%s", path);
}

/* It has what it has, and no size. */
static void sent(const char *path, void (*pair)(int sv[2]))
{
	static char b[1 << 16];
	struct t_call c;
	int sv[2];
	long r;

	open_file(path);
	pair(sv);
	fill(sv[0], INT_MAX);
	t_begin(&c, sends, &sv[0]);
	while ((r = recv(sv[1], b, sizeof(b), MSG_DONTWAIT)) > 0 ||
	       !atomic_load(&c.ended))
		if (r <= 0)
			t_settle();
	t_ended(path, &c);
	T_RESULT("position", lseek(in, 0, SEEK_CUR));
	t_close(in);
	t_close(sv[0]);
	t_close(sv[1]);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* It waits for room all the same, until a signal comes. */
static void without_memory(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value = { 0, 50000 } };
	struct rlimit old, none;
	int sv[2];

	in = memfd_create("input", 0);
	CHECK(in >= 0 && ftruncate(in, STEP) == 0);
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	t_tcp_pair(sv);
	fill_up(sv[0]);
	CHECK(getrlimit(RLIMIT_AS, &old) == 0);
	none = old;
	none.rlim_cur = 4096;
	CHECK(setrlimit(RLIMIT_AS, &none) == 0);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK_ERR(sends(&sv[0]), EINTR);
	CHECK(setrlimit(RLIMIT_AS, &old) == 0);
	t_say("no memory");
}

int main(void)
{
	int sv[2];

	t_be_threaded();
	refused(".");
	/* Not all kernels have no way to splice it. */
	open_file("/proc/self/status");
	t_pair(sv);
	if (sends(&sv[0]) == -1 && errno == EINVAL)
		refused("/proc/self/status");
	sent("/proc/version", t_tcp_pair);
	sent("/proc/version", t_pair);
	without_memory();
	return 0;
}
