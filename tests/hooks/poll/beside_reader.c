/*
 * One thread polls a file, and another one reads it: both wait, and use no processor
 * meanwhile; what comes is told to the one and given to the other.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include "../calls.h"

static long look(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, -1) == 1 ? p.revents : -1;
}

static long take(void *arg)
{
	char b[64];

	return read(*(int *)arg, b, sizeof(b));
}

static void beside(const char *name, int fd, void (*feed)(int fd))
{
	struct t_call looks, takes;

	CHECK(fd >= 0);
	t_begin(&looks, look, &fd);
	t_begin(&takes, take, &fd);
	t_rests();
	t_waits(&looks);
	t_waits(&takes);
	/* Who looks may find it taken: then once more. */
	feed(fd);
	t_ended(name, &takes);
	while (!atomic_load(&looks.ended)) {
		feed(fd);
		t_pause();
	}
	t_ended("poll", &looks);
	t_close(fd);
}

static void feed_eventfd(int fd)
{
	CHECK(eventfd_write(fd, 1) == 0);
}

static void feed_timerfd(int fd)
{
	struct itimerspec t = { .it_value.tv_nsec = 1 };

	CHECK(timerfd_settime(fd, 0, &t, NULL) == 0);
}

static int watched;

static void feed_inotify(int fd)
{
	(void)fd;
	CHECK(write(watched, "x", 1) == 1);
}

static int watch(void)
{
	char path[] = "/tmp/beside.XXXXXX";
	int fd = inotify_init1(0);

	watched = mkstemp(path);
	CHECK(watched >= 0 && inotify_add_watch(fd, path, IN_MODIFY) > 0);
	CHECK(unlink(path) == 0);
	return fd;
}

int main(void)
{
	t_be_threaded();
	beside("eventfd", eventfd(0, 0), feed_eventfd);
	beside("timerfd", timerfd_create(CLOCK_MONOTONIC, 0), feed_timerfd);
	beside("inotify", watch(), feed_inotify);
	return 0;
}
