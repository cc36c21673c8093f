/*
 * The table of descriptors fills up while threads wait in open() for the reader of a
 * FIFO: each has its number already.
 *
 * First more of them wait than there are workers, so that it is known that opens
 * wait.
 */
#include "../calls.h"
#include <sys/resource.h>
#include <sys/wait.h>

enum { FIRST = 20, SOME = 4, LIMIT = 128 };

static char path[PATH_MAX];
static const int flags[SOME] = { O_WRONLY, O_WRONLY | O_CLOEXEC,
				 O_WRONLY | O_APPEND, O_WRONLY };

static long opens(void *arg)
{
	return open(path, *(const int *)arg);
}

static void begin(struct t_call *c, int n, const int *with)
{
	for (int i = 0; i < n; i++) {
		t_begin(&c[i], opens, (void *)&with[i]);
		t_waits(&c[i]);
	}
}

/* A reader in another process, that goes again at once or reads to the end. */
static pid_t reader(int go, int stays)
{
	pid_t pid = fork();
	char c;
	int fd, n = 0;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	CHECK(read(go, &c, 1) == 1);
	fd = open(path, O_RDONLY | (stays ? 0 : O_NONBLOCK));
	CHECK(fd >= 0);
	while (stays && read(fd, &c, 1) == 1)
		n++;
	_exit(n);
}

static void end(const char *what, struct t_call *c, int n, int stays)
{
	for (int i = 0; i < n; i++) {
		int fd = (int)t_end(&c[i]), fl;

		t_say("%s: %s", what, fd < 0 ? strerrorname_np(-fd) : "open");
		if (fd < 0)
			continue;
		fl = fcntl(fd, F_GETFL);
		t_say("mode %d, O_NONBLOCK %d, O_APPEND %d, FD_CLOEXEC %d",
		      fl & O_ACCMODE, !!(fl & O_NONBLOCK), !!(fl & O_APPEND),
		      fcntl(fd, F_GETFD));
		if (stays)
			t_put(fd, 'x');
		t_close(fd);
	}
}

static void full(const char *what, int stays)
{
	int taken[LIMIT], n, go[2], st;
	struct t_call c[SOME];
	pid_t pid;

	t_pipe(go);
	pid = reader(go[0], stays);
	begin(c, SOME, flags);
	for (n = 0; (taken[n] = dup(0)) >= 0; n++)
		;
	CHECK(errno == EMFILE);
	t_put(go[1], 'x');
	end(what, c, SOME, stays);
	while (n)
		t_close(taken[--n]);
	st = t_wait(pid);
	t_say("read: %d", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
	t_close(go[0]);
	t_close(go[1]);
}

int main(void)
{
	struct rlimit l = { LIMIT, LIMIT };
	static struct t_call c[FIRST];
	static int first[FIRST];
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	t_handle(SIGPIPE, SIG_IGN, 0);
	t_be_threaded();
	CHECK_0(setrlimit(RLIMIT_NOFILE, &l));
	for (int i = 0; i < FIRST; i++)
		first[i] = O_WRONLY;
	begin(c, FIRST, first);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0);
	end("before", c, FIRST, 1);
	t_close(fd);
	full("a reader", 1);
	full("a reader that goes", 0);
	return 0;
}
