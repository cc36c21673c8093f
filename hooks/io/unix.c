/*
 * Sockets that wait for another socket of this machine: datagrams, whose receiver
 * has as many as it takes, and unix streams, whose listener has as many callers.
 *
 * Poll tells of the receiver that a socket is connected to, and a send that would
 * wait for it has asked for an edge (unix_dgram_peer_wake_me()). Of one that is
 * named by its address, and of a listener, only the kernel knows when it has room
 * (unix_wait_for_peer()). All who wait for the same one stand in line for it.
 */
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/* An abstract name: two sums of it, as good as the name. */
static void sum_up(uint64_t key[2], const char *name, unsigned n)
{
	key[0] = key[1] = n;
	for (unsigned i = 0; i < n; i++) {
		key[0] = (key[0] ^ (uint8_t)name[i]) * 0x100000001b3ull;
		key[1] = (key[1] + (uint8_t)name[i]) * 0x9e3779b97f4a7c15ull;
	}
}

/* The line for the socket of that address; false: there is none. */
static bool find_line(struct fib_place *p, const void *addr, unsigned len)
{
	struct {
		struct sockaddr_un un;
		char end;
	} a = { 0 };
	struct stat st;

	if (len <= PATH_AT || len > sizeof(a.un) || fib_copy(&a, addr, len) ||
	    a.un.sun_family != AF_UNIX || fib_self()->thread.apart)
		return false;
	if (!a.un.sun_path[0]) {
		sum_up(p->key, a.un.sun_path, (unsigned)(len - PATH_AT));
		return true;
	}
	if (fib_raw(SYS_stat, a.un.sun_path, &st))
		return false;
	p->key[0] = st.st_dev;
	p->key[1] = st.st_ino;
	return true;
}

/* Call @nr in the kernel, on the file of @k, when the turn in line @p has come. */
static long in_line(struct fib_place *p, struct fib_known *k, long nr,
		    const long a[6])
{
	p->key[2] = (uint64_t)nr;
	return fib_io_whole(k, FIB_IO_WRITE, false, nr, a, NULL, p);
}

long fib_io_connect_unix(struct fib_known *k, const long a[6])
{
	struct fib_place p = { .key = { 0 } };

	if (fib_fd_nonblock(k) || fib_fd_timed(k) ||
	    !find_line(&p, (const void *)a[1], (unsigned)a[2]))
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	return in_line(&p, k, SYS_connect, a);
}

struct name {
	bool known; /* else the message is not there */
	const void *addr;
	unsigned len; /* 0: none */
};

/* Whom call @nr names. */
static struct name name_in(long nr, const long a[6])
{
	struct name n = { .known = true };
	struct msghdr h;

	if (nr == SYS_sendto)
		return (struct name){ true, (const void *)a[4],
				      a[4] ? (unsigned)a[5] : 0 };
	if (fib_copy(&h, (const void *)a[1], sizeof(h)))
		n.known = false;
	else if (h.msg_name)
		n = (struct name){ true, h.msg_name, h.msg_namelen };
	return n;
}

/* Until the socket's own buffer has room, and it is the receiver that has none. */
static long to_named(struct fib_known *k, long nr, const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_WRITE);
	long r;

	fib_io_start(&io);
	do {
		fib_io_begin(&io);
		r = fib_raw6(nr, io.s->fd, a[1], a[2], a[3], a[4], a[5]);
		if (r != -EAGAIN || fib_io_ready(io.s->fd, POLLOUT))
			break;
		r = fib_io_again(&io);
	} while (r == 0);
	fib_io_end(&io);
	return r;
}

/* For these poll and its edges tell when there is room. */
static bool poll_tells(const struct fib_known *k, int domain)
{
	return domain == AF_UNIX ||
	       ((domain == AF_INET || domain == AF_INET6) &&
		fib_io_option(k, SO_TYPE, 0) == SOCK_DGRAM);
}

long fib_io_send_datagram(struct fib_known *k, long nr, long a[6], long *flags)
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_WRITE);
	struct fib_place p = { .key = { 0 } };
	long asked = *flags, r;
	struct sockaddr_un peer;
	int domain, len = sizeof(peer);
	struct name to;

	*flags |= MSG_DONTWAIT;
	r = fib_io_sent(fib_pass(nr, a), asked);
	if (r != -EAGAIN || fib_fd_nonblock(k))
		return r;
	domain = fib_io_option(k, SO_DOMAIN, 0);
	to = name_in(nr, a);
	if (!fib_fd_timed(k) && to.known && poll_tells(k, domain)) {
		if (!to.len || domain != AF_UNIX)
			return fib_io_sent(fib_io_call(&io, 0, nr, a), asked);
		/* Poll would tell of the one that it is connected to. */
		if (fib_fd_asks() &&
		    fib_raw(SYS_getpeername, k->fd, &peer, &len) &&
		    find_line(&p, to.addr, to.len)) {
			r = fib_io_sent(to_named(k, nr, a), asked);
			*flags = asked;
			return r != -EAGAIN ? r :
					      fib_io_sent(in_line(&p, k, nr, a),
							  asked);
		}
	}
	*flags = asked;
	return fib_io_sent(fib_io_in_kernel(k, FIB_IO_WRITE, false, nr, a),
			   asked);
}
