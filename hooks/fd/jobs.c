/*
 * Job control: a process in the background that reads from its terminal, or
 * changes it, is sent SIGTTIN or SIGTTOU, and stops.
 *
 * The kernel looks whether the calling thread blocks or ignores the signal, and
 * then sends none. Workers block all. So what __tty_check_change() of the kernel
 * does is done here, before the call. Whether a process group is an orphan, only
 * the kernel knows for sure; here the caller's own parent decides.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/signal/signal.h"

/* Nobody of its session, and not of its group, is there to continue it. */
static bool is_orphan(long group)
{
	long parent = fib_raw(SYS_getppid);

	return fib_raw(SYS_getpgid, parent) == group ||
	       fib_raw(SYS_getsid, parent) != fib_raw(SYS_getsid, 0);
}

/*
 * The kernel answers for the other side of a master, which is no process's
 * terminal.
 */
bool fib_job_is_master(int fd)
{
	unsigned number;

	return fib_raw(SYS_ioctl, fd, TIOCGPTN, &number) == 0;
}

/* Is the other side of master @fd the terminal of the process's session? */
static bool is_own_master(int fd)
{
	int session = 0;

	return !fib_raw(SYS_ioctl, fd, TIOCGSID, &session) && session &&
	       session == fib_raw(SYS_getsid, 0);
}

/*
 * As __tty_check_change(): 0, -EIO, or -FIB_ERESTARTSYS: a signal was sent. @masters:
 * a master's other side is looked at.
 */
static long check_group(int fd, int foreground, int sig, bool masters)
{
	const struct fib *f = fib_self();
	long group = fib_raw(SYS_getpgid, 0);

	if (foreground == group ||
	    (fib_job_is_master(fd) && !(masters && is_own_master(fd))))
		return 0;
	if ((fib_load(&f->sig.mask, relaxed) & FIB_SIG(sig)) ||
	    fib_signal_action(sig).handler == (uintptr_t)SIG_IGN)
		return sig == SIGTTIN ? -EIO : 0;
	if (is_orphan(group))
		return -EIO;
	fib_signal_send_group(sig);
	return -FIB_ERESTARTSYS;
}

/* Is @fd the process's own terminal, or a master? Then its foreground group. */
static bool has_group(int fd, int *foreground)
{
	return fib_raw(SYS_ioctl, fd, TIOCGPGRP, foreground) == 0;
}

static long check_change(int fd, int sig, bool masters)
{
	int foreground = 0;

	return has_group(fd, &foreground) ?
		       check_group(fd, foreground, sig, masters) :
		       0;
}

/* One that a process may be in the background of. */
static bool is_tty(struct fib_known *k)
{
	struct fib_modes m;

	if (!k->tty)
		k->tty = fib_raw(SYS_ioctl, k->fd, TCGETS, &m) ? FIB_TTY_NOT :
			 fib_job_is_master(k->fd) ? FIB_TTY_MASTER :
						    FIB_TTY_IS;
	return fib_fd_is_tty(k);
}

static long check_read(struct fib_known *k)
{
	int foreground = 0;
	bool own = has_group(k->fd, &foreground);
	uint8_t tty = own ? FIB_TTY_OWN : FIB_TTY_IS;

	if (k->tty != tty)
		k->tty = tty;
	return own ? check_group(k->fd, foreground, SIGTTIN, false) : 0;
}

long fib_job_io(struct fib_known *k, uint8_t ev)
{
	struct fib_modes m;

	if (k->kind != FIB_FD_POLLED || !is_tty(k) ||
	    fib_fd_access(k) == (ev == FIB_IO_READ ? O_WRONLY : O_RDONLY))
		return 0;
	if (ev == FIB_IO_READ)
		return check_read(k);
	if (fib_raw(SYS_ioctl, k->fd, TCGETS, &m) || !(m.lflag & TOSTOP))
		return 0;
	return check_change(k->fd, SIGTTOU, false);
}

_Atomic bool fib_fd_packets_used;

long fib_job_ioctl(int fd, unsigned cmd)
{
	long r;

	switch (cmd) {
	case TIOCPKT:
		fib_store(&fib_fd_packets_used, true, relaxed);
		return 0;
	case TIOCSPGRP:
		r = check_change(fd, SIGTTOU, true);
		return r == -EIO ? -ENOTTY : r;
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
	case TCSETA:
	case TCSETAW:
	case TCSETAF:
	case 0x402c542b: /* TCSETS2, TCSETSW2, TCSETSF2 */
	case 0x402c542c:
	case 0x402c542d:
		return check_change(fd, SIGTTOU, true);
	case TIOCSETD:
	case TIOCSBRK:
	case TIOCCBRK:
	case TCSBRK:
	case TCSBRKP:
	case TCXONC:
	case TCFLSH:
		return check_change(fd, SIGTTOU, false);
	}
	return 0;
}

/* The terminal's foreground group, perhaps the caller's own. */
bool fib_job_signals(unsigned cmd)
{
	return cmd == TIOCSWINSZ || cmd == TIOCSIG || cmd == TIOCSTI ||
	       cmd == TIOCNOTTY || cmd == TIOCVHANGUP;
}
