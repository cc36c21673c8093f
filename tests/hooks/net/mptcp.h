/* A connection of MPTCP over the loopback. */
#ifndef T_MPTCP_H
#define T_MPTCP_H

#include "t.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* The first end has connected to the second. Skips the test where there is none. */
static inline void t_mptcp_pair(int sv[2])
{
	int port, l = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	struct sockaddr_in a = t_addr(0);
	socklen_t len = sizeof(a);

	if (l < 0)
		t_skip("no MPTCP");
	CHECK_0(bind(l, (struct sockaddr *)&a, len));
	CHECK_0(listen(l, 5));
	CHECK_0(getsockname(l, (struct sockaddr *)&a, &len));
	port = ntohs(a.sin_port);
	a = t_addr(port);
	sv[0] = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	CHECK(sv[0] >= 0);
	CHECK_0(connect(sv[0], (struct sockaddr *)&a, sizeof(a)));
	sv[1] = accept(l, NULL, NULL);
	CHECK(sv[1] >= 0);
	t_close(l);
}

#endif
