/*
 * Flags that a kind of socket does not look at: unix_dgram_recvmsg() and
 * unix_stream_recvmsg() know of no queue of errors, udp_recvmsg() of nothing urgent.
 */
#include <netinet/in.h>
#include "hooks/io/io.h"

int fib_io_heeded(const struct fib_known *k, int flags)
{
	int domain;

	if (!k || !(flags & (MSG_ERRQUEUE | MSG_OOB)))
		return flags;
	domain = fib_io_option(k, SO_DOMAIN, 0);
	if (domain == AF_UNIX)
		flags &= ~MSG_ERRQUEUE;
	if ((domain == AF_INET || domain == AF_INET6) &&
	    !(flags & MSG_ERRQUEUE) &&
	    fib_io_option(k, SO_PROTOCOL, 0) == IPPROTO_UDP)
		flags &= ~MSG_OOB;
	return flags;
}
