/* A network of the process's own, in which it may do what it likes. */
#ifndef OWN_NET_H
#define OWN_NET_H

#include "t.h"
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

/* Before the first thread. Its lo is up, and there is nothing else. */
static inline void t_own_net(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET))
		t_skip("no network of its own");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	CHECK(ioctl(fd, SIOCSIFFLAGS, &r) == 0);
	t_close(fd);
}

#endif
