/* What kind of file a descriptor is, see fd.h. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/fd/procfs.h"

_Atomic bool fib_fd_lowat_used, fib_fd_peek_off_used, fib_fd_glue_used;

#define SOCK_TYPE 0xf /* SOCK_TYPE_MASK of linux/net.h */

static int sock_opt(int fd, int name)
{
	int val = 0, len = sizeof(val);
	long r = fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &val, &len);

	return r < 0 ? (int)r : val;
}

/*
 * What other than TCP there may be behind these numbers (BPF can have MPTCP made in
 * its place), is the same for all that a process makes: the first is asked.
 */
static bool is_tcp(int fd)
{
	static _Atomic bool plain;

	if (fib_unlikely(!fib_load(&plain, relaxed)) &&
	    sock_opt(fd, SO_PROTOCOL) == IPPROTO_TCP)
		fib_store(&plain, true, relaxed);
	return fib_load(&plain, relaxed);
}

/*
 * Where MSG_DONTWAIT does no more than not to wait. AF_XDP refuses a call without it
 * (__xsk_sendmsg(), __xsk_recvmsg()), one of TIPC connects and does not wait for that
 * (tipc_sendmsg()): what nobody has looked at is the kernel's.
 */
static bool is_plain(int domain)
{
	switch (domain) {
	case AF_INET:
	case AF_INET6:
	case AF_NETLINK:
	case AF_PACKET:
	case AF_VSOCK:
	case AF_SMC:
		return true;
	}
	return false;
}

/* One of SCTP has messages. */
static uint8_t other_kind(int fd, int domain, bool stream)
{
	uint8_t kind = stream && sock_opt(fd, SO_PROTOCOL) != IPPROTO_SCTP ?
			       FIB_FD_OTHER :
			       FIB_FD_DGRAM;

	return is_plain(domain) ? kind :
				  kind | FIB_FD_ODD(FIB_IO_READ | FIB_IO_WRITE);
}

uint8_t fib_fd_made_kind(int fd, int domain, int type, int protocol)
{
	bool stream = (type & SOCK_TYPE) == SOCK_STREAM;

	if (domain == AF_UNIX)
		return stream ? FIB_FD_STREAM : FIB_FD_LOCAL;
	if (stream && (domain == AF_INET || domain == AF_INET6) &&
	    (protocol == 0 || protocol == IPPROTO_TCP))
		return is_tcp(fd) ? FIB_FD_TCP : FIB_FD_UNKNOWN;
	return other_kind(fd, domain, stream);
}

/*
 * perf_poll() tells of an event once, to whoever asks first: as files of /proc do.
 * A map refuses reads and writes, whatever its poll says of what the kernel puts in
 * (bpf_dummy_read() of kernel/bpf/syscall.c).
 */
static uint8_t find_nameless(int fd)
{
	static const char *const names[] = {
		"anon_inode:[eventpoll]",
		"anon_inode:[perf_event]",
		"anon_inode:bpf-map",
	};
	static const uint8_t kinds[] = { FIB_FD_EPOLL, FIB_FD_ALWAYS,
					 FIB_FD_MEMORY, FIB_FD_NOWAIT };

	return kinds[fib_procfs_which(fd, names, 3)];
}

/* /dev/null, zero, full and urandom: devlist of drivers/char/mem.c; they have no poll. */
static bool is_memory(dev_t dev)
{
	return major(dev) == 1 && minor(dev) % 2 && minor(dev) >= 3 &&
	       minor(dev) <= 9;
}

static bool has_tcp_option(int fd, int name)
{
	int val = 0, len = sizeof(val);

	return !fib_raw(SYS_getsockopt, fd, SOL_TCP, name, &val, &len) && val;
}

/* Of one that was set so before the first thread, or elsewhere: hooks/io/net.c. */
static void note_async(int fd)
{
	long fl;

	if (fib_load(&fib_desc_async_used, relaxed))
		return;
	fl = fib_raw(SYS_fcntl, fd, F_GETFL);
	if (fl >= 0 && (fl & O_ASYNC))
		fib_store(&fib_desc_async_used, true, relaxed);
}

/* What hooks/io/conn.c notes of those that are made here. */
static uint8_t find_tcp(int fd)
{
	if (has_tcp_option(fd, TCP_ULP))
		fib_store(&fib_fd_glue_used, true, relaxed);
	return has_tcp_option(fd, TCP_FASTOPEN_CONNECT) ?
		       FIB_FD_TCP | FIB_FD_ODD(FIB_IO_WRITE) :
		       FIB_FD_TCP;
}

uint8_t fib_fd_find_kind(int fd)
{
	struct stat st;
	int domain, type;

	if (fib_raw(SYS_fstat, fd, &st) < 0)
		return FIB_FD_UNKNOWN;
	switch (st.st_mode & S_IFMT) {
	case S_IFSOCK:
		note_async(fd);
		domain = sock_opt(fd, SO_DOMAIN);
		type = sock_opt(fd, SO_TYPE);
		if (sock_opt(fd, SO_RCVLOWAT) > 1)
			fib_store(&fib_fd_lowat_used, true, relaxed);
		if (sock_opt(fd, SO_PEEK_OFF) >= 0)
			fib_store(&fib_fd_peek_off_used, true, relaxed);
		if (type == SOCK_STREAM && domain == AF_UNIX &&
		    (sock_opt(fd, SO_PASSCRED) > 0 ||
		     sock_opt(fd, SO_PASSPIDFD) > 0 ||
		     sock_opt(fd, SO_PASSSEC) > 0))
			fib_store(&fib_fd_glue_used, true, relaxed);
		if (type == SOCK_STREAM &&
		    (domain == AF_INET || domain == AF_INET6) &&
		    sock_opt(fd, SO_PROTOCOL) == IPPROTO_TCP)
			return find_tcp(fd);
		if (domain == AF_UNIX)
			return type == SOCK_STREAM ? FIB_FD_STREAM :
						     FIB_FD_LOCAL;
		/* It may have a ring: note_ring() of hooks/io/conn.c */
		if (domain == AF_PACKET)
			return FIB_FD_DGRAM | FIB_FD_ODD(FIB_IO_WRITE);
		return other_kind(fd, domain, type == SOCK_STREAM);
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
	case S_IFLNK:
		return FIB_FD_ALWAYS;
	case S_IFIFO:
		return FIB_FD_PIPE;
	case S_IFCHR:
		return is_memory(st.st_rdev) ? FIB_FD_MEMORY : FIB_FD_POLLED;
	default:
		return find_nameless(fd);
	}
}
