/*
 * /dev/null, /dev/zero, /dev/full and /dev/urandom: what their calls return, and that
 * they have no position that sendfile() would move.
 */
#include "t.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static const char *const names[] = { "/dev/null", "/dev/zero", "/dev/full",
				     "/dev/urandom" };

static void say(const char *call, long r)
{
	t_say("%s: %ld %s", call, r, r < 0 ? strerrorname_np(errno) : "");
}

static void *drain(void *arg)
{
	static char buf[65536];
	const int *fd = arg;

	while (read(*fd, buf, sizeof(buf)) > 0)
		;
	return NULL;
}

static void plain(int fd)
{
	char buf[128] = { 0 };
	struct iovec v[2] = { { buf, 10 }, { buf + 10, 20 } };
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };
	struct epoll_event ev = { .events = EPOLLIN };
	int epfd = epoll_create1(0);

	say("read", read(fd, buf, sizeof(buf)));
	say("write", write(fd, buf, sizeof(buf)));
	say("readv", readv(fd, v, 2));
	say("writev", writev(fd, v, 2));
	say("nothing", syscall(SYS_read, fd, NULL, 0L));
	say("bad", syscall(SYS_read, fd, 8L, 5L));
	say("poll", poll(&p, 1, -1));
	t_say("revents: %x", (unsigned)p.revents);
	say("epoll", epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev));
	t_close(epfd);
}

static void send_to(int fd, int to[2])
{
	off_t at = 5;
	pthread_t th = t_thread(drain, &to[0]);

	say("sendfile", sendfile(to[1], fd, NULL, 1000000));
	t_say("position: %ld", (long)lseek(fd, 0, SEEK_CUR));
	say("sendfile at", sendfile(to[1], fd, &at, 300000));
	t_say("offset: %ld", (long)at);
	t_close(to[1]);
	t_join(th);
	t_close(to[0]);
}

int main(void)
{
	t_be_threaded();
	for (size_t i = 0; i < T_LEN(names); i++) {
		int fd = open(names[i], O_RDWR), ends[2];

		CHECK(fd >= 0);
		t_say("%s", names[i]);
		plain(fd);
		t_pair(ends);
		send_to(fd, ends);
		t_pipe(ends);
		send_to(fd, ends);
		t_close(fd);
	}
	return 0;
}
