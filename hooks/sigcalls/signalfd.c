/* signalfd: which signals the program expects to find there. */
#include <fcntl.h>
#include <sys/signalfd.h>
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/fd/procfs.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/signal/signal.h"

/*
 * A signal that is directed at a fiber waits in the fiber's own queue, where a
 * signalfd does not see it. So if the program has a signalfd for it, and all
 * block it, it is sent to the process instead, and waits in the kernel: whoever
 * polls or reads the signalfd finds it there. (Its si_code is SI_USER then: the
 * kernel lets only a process's first thread say SI_TKILL.)
 */
bool fib_signalfd_shows(int sig)
{
	return (fib_signal_shown() & FIB_SIG(sig)) && !fib_signal_target(sig) &&
	       (fib_procfs_signalfds() & FIB_SIG(sig));
}

void fib_signalfd_init(void)
{
	fib_signal_shown_init(fib_procfs_signalfds());
}

_Static_assert(SFD_NONBLOCK == O_NONBLOCK, "flags");

/* @fd: it was there before, and shows others now; below 0: it is new. */
static long made_signalfd(long r, int fd, const uint64_t *mask, int flags)
{
	uint64_t set;

	if (r >= 0 && fd < 0)
		fib_fd_born((int)r, FIB_FD_UNKNOWN,
			    O_RDWR | (flags & O_NONBLOCK), true);
	if (r >= 0 && !fib_copy(&set, mask, sizeof(set)))
		fib_signal_show(fib_self(), set);
	return r;
}

long fib_sys_signalfd(int fd, const uint64_t *mask, size_t size)
{
	return made_signalfd(fib_raw(SYS_signalfd, fd, mask, size), fd, mask,
			     0);
}

long fib_sys_signalfd4(int fd, const uint64_t *mask, size_t size, int flags)
{
	return made_signalfd(fib_raw(SYS_signalfd4, fd, mask, size, flags), fd,
			     mask, flags);
}
