/* What behaviour programs use, and older headers and libcs (2.31) lack. */
#ifndef OLD_H
#define OLD_H

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if !__GLIBC_PREREQ(2, 32)
#define strerrorname_np strerror
#endif

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#if !__GLIBC_PREREQ(2, 34)
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static inline int close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline void closefrom(int fd)
{
	close_range((unsigned)fd, ~0u, 0);
}
#endif

#if !__GLIBC_PREREQ(2, 35)
static inline int epoll_pwait2(int fd, struct epoll_event *ev, int n,
			       const struct timespec *ts, const sigset_t *mask)
{
	return (int)syscall(SYS_epoll_pwait2, fd, ev, n, ts, mask, 8);
}
#endif

#endif
