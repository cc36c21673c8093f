/*
 * readv() of inotify: the kernel fills each piece by a read of its own, and waits for the
 * next event when one piece is full.
 *
 * t-case: filled
 * t-case: short
 * t-case: handler
 * t-case: closed
 */
#include "../calls.h"
#include <sys/inotify.h>

enum { EVENT = sizeof(struct inotify_event) };

static int in, file;
static char path[64];
static char got[3 * EVENT];

static long reads(void *arg)
{
	struct iovec v[2] = { { got, EVENT }, { got + EVENT, EVENT } };

	if (arg)
		v[1].iov_len = 2 * EVENT;
	return readv(in, v, 2);
}

static void nothing(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	struct t_call c;
	int other[2];

	CHECK(argc == 2);
	t_handle(SIGUSR1, nothing, 0);
	t_be_threaded();
	snprintf(path, sizeof(path), "/tmp/pieces.%d", (int)getpid());
	file = open(path, O_RDWR | O_CREAT, 0600);
	in = inotify_init1(0);
	CHECK(file >= 0 &&
	      inotify_add_watch(in, path, IN_MODIFY | IN_ATTRIB) > 0);
	t_begin(&c, reads, strcmp(argv[1], "short") ? NULL : &c);
	t_waits(&c);
	CHECK(write(file, "x", 1) == 1);
	t_waits(&c);
	t_waits(&c);
	if (!strcmp(argv[1], "handler"))
		CHECK_0(pthread_kill(c.th, SIGUSR1));
	if (!strcmp(argv[1], "closed")) {
		t_pipe(other);
		CHECK(dup2(other[0], in) == in);
		CHECK(write(other[1], got, sizeof(got)) > 0);
		t_waits(&c);
	}
	if (strcmp(argv[1], "handler"))
		CHECK_0(fchmod(file, 0400));
	t_ended("read", &c);
	t_say("first: %x", ((struct inotify_event *)got)->mask);
	t_say("second: %x", ((struct inotify_event *)(got + EVENT))->mask);
	unlink(path);
	return 0;
}
