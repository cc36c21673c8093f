/*
 * Who waits for events, by one piece or by several, stays with the file when its number
 * becomes another one's: each has EINVAL when an event comes that is too long for it, the
 * last one as well.
 */
#include "../calls.h"
#include <sys/inotify.h>
#include <sys/uio.h>

#define READERS 6

static int in;

static long reads(void *arg)
{
	char c;

	(void)arg;
	return read(in, &c, 1);
}

static long reads_pieces(void *arg)
{
	char c[2];
	struct iovec v[2] = { { &c[0], 1 }, { &c[1], 1 } };

	(void)arg;
	return readv(in, v, 2);
}

int main(void)
{
	struct t_call c[READERS];
	char path[PATH_MAX];
	int f, other;

	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	f = open(path, O_CREAT | O_WRONLY, 0600);
	in = inotify_init1(0);
	other = inotify_init1(0);
	CHECK(f >= 0 && in >= 0 && other >= 0);
	CHECK(inotify_add_watch(in, path, IN_MODIFY) >= 0);
	for (int i = 0; i < READERS; i++)
		t_begin(&c[i], i < READERS / 2 ? reads_pieces : reads, NULL);
	CHECK(dup2(other, in) == in);
	for (int i = 0; i < READERS; i++)
		t_waits(&c[i]);
	t_put(f, 'x');
	for (int i = 0; i < READERS; i++)
		t_ended("read", &c[i]);
	return 0;
}
