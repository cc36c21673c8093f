/* A pair of sockets, the first of which is waited for: tests of the IOManager. */
#ifndef UNIT_PAIR_H
#define UNIT_PAIR_H

#include <sys/socket.h>
#include "runtime/iom.h"
#include "tests/unit/unit.h"

static int sv[2];

static inline struct fib_fd *start(int type)
{
	ck_assert_int_eq(socketpair(AF_UNIX, type, 0, sv), 0);
	return fib_fd_get(sv[0]);
}

static inline long take(int fd)
{
	char c;

	return fib_raw(SYS_recvfrom, fd, &c, 1, MSG_DONTWAIT, 0, 0);
}

static inline void put(int n)
{
	while (n--)
		ck_assert_int_eq(send(sv[1], "x", 1, 0), 1);
}

#endif
