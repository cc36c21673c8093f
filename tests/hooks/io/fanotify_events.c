/* Events of fanotify that nobody waits for: read that waits, poll, none there. */
#include <sys/fanotify.h>
#include "../calls.h"

static long next(void *fd)
{
	struct fanotify_event_metadata ev;
	long r = read(*(int *)fd, &ev, sizeof(ev));

	if (r != sizeof(ev))
		return r;
	t_close(ev.fd);
	return (long)ev.mask;
}

static long watch(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

int main(void)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY), file;
	char path[PATH_MAX];
	struct t_call c, p;

	if (fd < 0)
		t_skip("fanotify_init() is not permitted here");
	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	if (fanotify_mark(fd, FAN_MARK_ADD, FAN_MODIFY | FAN_CLOSE_WRITE,
			  AT_FDCWD, path))
		t_skip("no marks on files here");
	t_begin(&c, next, &fd);
	t_waits(&c);
	t_put(file, 'x');
	t_ended("written", &c);
	t_begin(&p, watch, &fd);
	t_waits(&p);
	t_put(file, 'y');
	t_ended("polled", &p);
	T_RESULT("written again", next(&fd));
	t_begin(&c, next, &fd);
	t_waits(&c);
	t_close(file);
	t_ended("closed", &c);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	T_RESULT("none", next(&fd));
	return 0;
}
