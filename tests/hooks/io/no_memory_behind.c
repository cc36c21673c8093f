/*
 * A read ends where the memory that it was given ends, with more behind: what comes next is
 * not to wait for that.
 */
#include "../calls.h"
#include <sys/ioctl.h>

/* No buffer of the kernel's has as much as fits. */
#define ROOM (1 << 20)
#define FITS 100000
#define ALL  150000

static char *room, *hole; /* which is behind it */
static int end[2];

static long reads(void *at)
{
	return read(end[0], at, ROOM);
}

static long reads_whole(void *at)
{
	return recv(end[0], at, ROOM, MSG_WAITALL);
}

static long reads_vector(void *at)
{
	struct iovec v[2] = { { at, FITS }, { hole, ROOM } };

	return readv(end[0], v, 2);
}

static long polls(void *at)
{
	struct pollfd p = { .fd = at ? end[0] : -1, .events = POLLIN };

	return poll(&p, 1, -1);
}

static long selects(void *at)
{
	fd_set set;

	FD_ZERO(&set);
	if (at)
		FD_SET(end[0], &set);
	return select(end[0] + 1, &set, NULL, NULL, NULL);
}

static void fill(void)
{
	static char all[ALL];
	int there = 0;

	t_write(end[1], all, sizeof(all));
	while (there < ALL)
		CHECK(ioctl(end[0], FIONREAD, &there) == 0);
}

/* @first gets a part; how much is the kernel's to say. Then @next is called. */
static void one(const char *what, long (*first)(void *), long (*next)(void *))
{
	int size = ROOM;
	struct t_call c;
	long r;

	CHECK(setsockopt(end[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ==
	      0);
	t_begin(&c, reads, room);
	t_write(end[1], "a", 1);
	CHECK(t_end(&c) == 1);
	fill();
	t_begin(&c, first, hole - FITS);
	r = t_end(&c);
	CHECK(r > 0 && r <= FITS);
	t_begin(&c, next, room);
	if (next == reads)
		r += t_end(&c);
	else
		CHECK(t_end(&c) == 1);
	while (r < ALL)
		r += reads(room);
	t_say("%s: %ld", what, r);
	t_close(end[0]);
	t_close(end[1]);
}

static void tcp(void)
{
	int size = ROOM;

	t_tcp_pair(end);
	CHECK(setsockopt(end[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ==
	      0);
}

int main(void)
{
	t_be_threaded();
	room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hole = room + ROOM;
	CHECK(room != MAP_FAILED && munmap(hole, ROOM) == 0);
	tcp();
	one("TCP, read", reads, reads);
	tcp();
	one("TCP, readv, read", reads_vector, reads);
	tcp();
	one("TCP, all of it", reads_whole, reads);
	tcp();
	one("TCP, poll", reads, polls);
	tcp();
	one("TCP, select", reads, selects);
	t_pair(end);
	one("unix stream, read", reads, reads);
	t_pair(end);
	one("unix stream, all of it", reads_whole, reads);
	t_pair(end);
	one("unix stream, poll", reads, polls);
	t_pair(end);
	one("unix stream, select", reads, selects);
	return 0;
}
