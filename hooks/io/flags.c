/*
 * Flags that a kind of socket does not look at: unix_dgram_recvmsg(),
 * unix_stream_recvmsg() and netlink_recvmsg() know of no queue of errors, udp_recvmsg()
 * of nothing urgent, and one datagram is all that they wait for. packet_recvmsg() refuses
 * most flags, and so does not wait.
 */
#include <netinet/in.h>
#include "hooks/io/io.h"

/* One that packet_recvmsg() refuses though it is none of its business is tried. */
#define TRIED                                                                  \
	(MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT | MSG_ERRQUEUE | MSG_NOSIGNAL |   \
	 MSG_CMSG_CLOEXEC | MSG_WAITFORONE)

/* Flags of a send, or of segments, that no receive of the kinds below looks at. */
#define OF_SENDS                                                               \
	(MSG_DONTROUTE | MSG_CTRUNC | MSG_PROXY | MSG_EOR | MSG_FIN |          \
	 MSG_SYN | MSG_CONFIRM | MSG_RST | MSG_MORE | MSG_BATCH |              \
	 MSG_ZEROCOPY | MSG_FASTOPEN)
/* Of these, and of all that is for sockets of the Internet, no send on a unix socket. */
#define OF_RECEIVES                                                            \
	(MSG_PEEK | MSG_TRUNC | MSG_WAITALL | MSG_ERRQUEUE | MSG_WAITFORONE |  \
	 MSG_CMSG_CLOEXEC)

#define MPTCP 262 /* IPPROTO_MPTCP */

int fib_io_heeded_send(const struct fib_known *k, int flags)
{
	bool local = k->kind == FIB_FD_LOCAL || k->kind == FIB_FD_STREAM;

	return local ? flags & ~(OF_SENDS | OF_RECEIVES) : flags;
}

int fib_io_heeded(const struct fib_known *k, int flags)
{
	int looked_at = MSG_ERRQUEUE | MSG_OOB, domain;

	if (!k)
		return flags;
	if (k->kind == FIB_FD_TCP || k->kind == FIB_FD_STREAM ||
	    k->kind == FIB_FD_LOCAL)
		flags &= ~OF_SENDS;
	if (fib_fd_has_messages(k))
		looked_at |= MSG_WAITALL;
	if (k->kind == FIB_FD_DGRAM)
		looked_at |= ~TRIED;
	if (!(flags & looked_at))
		return flags;
	if (k->kind == FIB_FD_LOCAL)
		flags &= ~MSG_WAITALL;
	if (k->kind == FIB_FD_LOCAL || k->kind == FIB_FD_STREAM)
		return flags & ~MSG_ERRQUEUE;
	domain = fib_io_option(k, SO_DOMAIN, 0);
	if (domain == AF_NETLINK)
		flags &= ~(MSG_ERRQUEUE | MSG_WAITALL | OF_SENDS);
	if ((domain == AF_INET || domain == AF_INET6) &&
	    fib_io_option(k, SO_PROTOCOL, 0) == IPPROTO_UDP) {
		flags &= ~(MSG_WAITALL | OF_SENDS);
		if (!(flags & MSG_ERRQUEUE))
			flags &= ~MSG_OOB;
	}
	/* mptcp_recvmsg() knows of nothing urgent, and waits. */
	if (k->kind == FIB_FD_OTHER && !(flags & MSG_ERRQUEUE) &&
	    fib_io_option(k, SO_PROTOCOL, 0) == MPTCP)
		flags &= ~MSG_OOB;
	if (domain == AF_PACKET && (flags & ~TRIED))
		flags |= MSG_DONTWAIT;
	return flags;
}
