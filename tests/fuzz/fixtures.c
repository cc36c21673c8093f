/*
 * Fixtures for args.c: descriptors of every kind, and memory that is there, half
 * there, read-only or not there.
 *
 * Memory is a row of regions at fixed addresses: two pages, then a hole. What is
 * laid there ends before the hole, or reaches into it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "args.h"

#define PAGE   4096ul
#define BASE   0x100000000000ul
#define STRIDE 0x100000ul

char *fuzz_region(unsigned i)
{
	return (char *)BASE + i * STRIDE;
}

/* --- descriptors ----------------------------------------------------------- */

const struct fuzz_fd fuzz_fds[FUZZ_FDS] = {
	{ 10, "pipe_r" }, { 11, "pipe_w" },   { 13, "broken" },
	{ 14, "stream" }, { 15, "stream2" },  { 16, "dgram" },
	{ 17, "dgram2" }, { 18, "listener" }, { 19, "udp" },
	{ 20, "file" },	  { 21, "null" },     { 22, "zero" },
	{ 23, "epoll" },  { 24, "eventfd" },  { 26, "dir" },
	{ 27, "path" },	  { 30, "nonblock" }, { 32, "tcp" },
	{ 33, "packet" }, { 34, "packet2" },  { 29, "own_fds" },
	/* calls on these may block: drawn less often */
	{ 12, "empty" },  { 31, "silent" },   { 28, "epoll0" },
};

static void put(int fd, int at)
{
	if (fd < 0 || dup2(fd, at) != at)
		abort();
	close(fd);
}

static void put_pair(int pair[2], int a, int b)
{
	put(pair[0], a);
	if (b < 0)
		close(pair[1]);
	else
		put(pair[1], b);
}

static void say_to(int fd, const char *what)
{
	if (write(fd, what, strlen(what)) < 0)
		abort();
}

static void make_descriptors(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct epoll_event ev = { .events = EPOLLIN };
	int p[2], fd;

	if (pipe(p))
		abort();
	/* All above what is given out next, so that there is room below. */
	put_pair(p, 10, 11);
	say_to(11, "abcdef");
	if (pipe(p))
		abort();
	put_pair(p, 12, 35);
	if (pipe(p))
		abort();
	put(p[1], 13);
	close(p[0]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p))
		abort();
	put_pair(p, 14, 15);
	say_to(14, "to the second");
	say_to(15, "to the first");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, p))
		abort();
	put_pair(p, 16, 17);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p))
		abort();
	put_pair(p, 33, 34);
	for (int i = 0; i < 2; i++) {
		say_to(16, "one");
		say_to(17, "another");
		say_to(33, "one");
		say_to(34, "another");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p))
		abort();
	put_pair(p, 30, 36);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p))
		abort();
	put_pair(p, 31, 37);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (void *)&any, sizeof(any)) || listen(fd, 5))
		abort();
	put(fd, 18);
	put(socket(AF_INET, SOCK_DGRAM, 0), 19);
	put(socket(AF_INET, SOCK_STREAM, 0), 32);
	put(memfd_create("fuzz", 0), 20);
	say_to(20, "a file of a few words");
	lseek(20, 2, SEEK_SET);
	put(open("/dev/null", O_RDWR), 21);
	put(open("/dev/zero", O_RDWR), 22);
	put(epoll_create1(0), 23);
	if (epoll_ctl(23, EPOLL_CTL_ADD, 10, &ev) ||
	    epoll_ctl(23, EPOLL_CTL_ADD, 14, &ev))
		abort();
	put(eventfd(5, 0), 24);
	put(open("/", O_RDONLY | O_DIRECTORY), 26);
	put(open("/", O_PATH), 27);
	put(open("/proc/self/fd", O_RDONLY | O_DIRECTORY), 29);
	put(epoll_create1(0), 28);
	/* The kernel's table has room for as many as any set tells of. */
	if (dup2(28, 1023) != 1023)
		abort();
	close(1023);
}

uint32_t fuzz_descriptors(void)
{
	uint32_t h = 2166136261u;

	for (int fd = 3; fd < 60; fd++) {
		int fl = fcntl(fd, F_GETFL), n = 0;

		if (fl < 0)
			continue;
		ioctl(fd, FIONREAD, &n);
		h = (h ^ (uint32_t)(fd * 1000003 + fl * 131 + n)) * 16777619u;
	}
	return h;
}

/* --- memory ---------------------------------------------------------------- */

void fuzz_fixtures(void)
{
	/* What is at low numbers is the caller's; nothing else may be there. */
	syscall(SYS_close_range, 3, 100, 0);
	for (unsigned i = 0; i < FUZZ_REGIONS; i++)
		if (mmap(fuzz_region(i), 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) != fuzz_region(i))
			abort();
	make_descriptors();
}

uint32_t fuzz_memory(const struct fuzz *z)
{
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < z->used; i++) {
		unsigned char there;

		if (z->timed & 1u << i)
			continue;
		for (unsigned long at = 0; at < 2 * PAGE; at++) {
			char *p = fuzz_region(i) + at;

			if (at % PAGE == 0 &&
			    (mincore(p, PAGE, &there) ||
			     mprotect(p, PAGE, PROT_READ))) {
				at += PAGE - 1;
				continue;
			}
			h = (h ^ (uint8_t)*p) * 16777619u;
		}
	}
	return h;
}

enum where { GOOD, TIGHT, HALF, RDONLY, RO_HALF, ODD, NOWHERE };

long fuzz_lay(struct fuzz *z, const char *what, const void *data, size_t size)
{
	static const long nowhere[] = { 0, 0x10, BASE - 4 * PAGE,
					(long)0xffffffff81000000ul,
					(long)0x8000000000000000ul,
					(1l << 47) - 4096, (1l << 47) - 4 };
	unsigned i, roll = (unsigned)fuzz_below(z, 100);
	enum where w = roll < 58 ? GOOD :
		       roll < 66 ? TIGHT :
		       roll < 74 ? HALF :
		       roll < 82 ? RDONLY :
		       roll < 85 ? RO_HALF :
		       roll < 88 ? ODD :
				   NOWHERE;
	char *end, *at;
	size_t cut = 0;

	if (w == NOWHERE || z->used == FUZZ_REGIONS) {
		i = (unsigned)fuzz_below(z, sizeof(nowhere) / sizeof(*nowhere));
		fuzz_say(z, "%s@nowhere%u", what, i);
		return nowhere[i];
	}
	i = z->used++;
	end = fuzz_region(i) + 2 * PAGE;
	at = fuzz_region(i) + (w == ODD);
	if (w == TIGHT || w == HALF || w == RO_HALF) {
		cut = w == TIGHT || !size ? 0 : 1 + fuzz_below(z, size);
		if (size >= 8 && cut > 4 && fuzz_below(z, 2))
			cut &= ~3ul;
		at = end - (size - cut);
	}
	if (size > 2 * PAGE)
		size = 2 * PAGE;
	memcpy(at, data, size - cut);
	if (w == RDONLY || w == RO_HALF)
		mprotect(fuzz_region(i), 2 * PAGE, PROT_READ);
	fuzz_say(z, "%s%s", what,
		 w == GOOD    ? "" :
		 w == TIGHT   ? "@end" :
		 w == HALF    ? "@half" :
		 w == RDONLY  ? "@ro" :
		 w == RO_HALF ? "@ro-half" :
				"@odd");
	return (long)at;
}
