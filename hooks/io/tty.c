/*
 * Reads of terminals: n_tty_read() alone knows lines, VMIN and VTIME, so the kernel makes
 * them. The first few of a process hold a kernel thread each from their beginning; further
 * ones wait as poll says and are made then, where that is the same: a line, or one byte
 * without a limit, of a terminal that is not the process's own (job control looks when a
 * read begins, n_tty_read(), job_control()).
 *
 *	native			here
 *	------			----
 *	modes are looked at	TCGETS (A)
 *	wait: a line, a byte	poll, park, poll: n_tty_poll() goes by the modes of (B)
 *	the master is closed:	the terminal hangs up: 0, which is -EIO of who has
 *	  -EIO			  waited, pty_close(); a hang-up alone is 0
 *
 * Where the modes are others at (B) than at (A), that is seen by a VMIN above 1 alone: what
 * is there is not enough then, and natively it was. docs/COMPATIBILITY.md says so.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "runtime/aside.h"
#include "runtime/digits.h"

#define FEW 4 /* of the N + 8 kernel threads that a process may have */

static _Atomic int held;

void fib_io_tty_reset(void)
{
	fib_store(&held, 0, relaxed);
}

/* How a read of it ends: n_tty_poll(), input_available_p(). */
enum way {
	BY_ITSELF,
	BY_A_LINE, /* poll tells */
	BY_A_BYTE, /* the same; and one that is short leaves nothing */
};

static enum way way_of(int fd)
{
	struct fib_modes m;

	if (fib_raw(SYS_ioctl, fd, TCGETS, &m) || m.line != N_TTY ||
	    (m.lflag & EXTPROC))
		return BY_ITSELF;
	if (m.lflag & ICANON)
		return BY_A_LINE;
	return m.cc[VMIN] == 1 && !m.cc[VTIME] ? BY_A_BYTE : BY_ITSELF;
}

/* devpts_pty_kill() takes the name away before the terminal hangs up. */
static bool has_master(const struct fib_fd *s, uint32_t closes)
{
	struct stat st;

	return closes == fib_load(&s->closes, relaxed) &&
	       !fib_raw(SYS_fstat, s->fd, &st) && st.st_nlink;
}

static long when_ready(struct fib_known *k, uint32_t closes, enum way way,
		       long nr, const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	bool shows = way == BY_A_BYTE && nr == SYS_read;
	long r;

	io.hung_up = -FIB_IO_HUNG_UP;
	io.asks = way == BY_A_LINE; /* 0 may be the end of a file */
	r = fib_io_polled(&io, shows ? (size_t)a[2] : 0, nr, a);
	if (r != -FIB_IO_HUNG_UP)
		return r;
	return has_master(k->slot, closes) ? 0 : -EIO;
}

/* From its beginning. */
static long at_once(struct fib_known *k, long nr, const long a[6])
{
	struct fib *f = fib_self();
	long r;

	fib_add(&held, 1, relaxed);
	f->io.counted = &held; /* a cancel unwinds */
	r = fib_io_in_kernel(k, FIB_IO_READ, false, nr, a);
	if (f->io.counted)
		fib_sub(&held, 1, relaxed);
	f->io.counted = NULL;
	return r;
}

static long read_once(struct fib_known *k, uint32_t closes, long nr,
		      const long a[6])
{
	/* Who waits already is not overtaken. */
	bool many = fib_load(&held, relaxed) >= FEW ||
		    (fib_load(&k->slot->waiting, relaxed) & FIB_IO_READ);
	enum way way = many && k->tty != FIB_TTY_OWN && !fib_self()->bound ?
			       way_of(k->fd) :
			       BY_ITSELF;

	return way == BY_ITSELF ? at_once(k, nr, a) :
				  when_ready(k, closes, way, nr, a);
}

/*
 * In raw mode a read is done when it has VMIN bytes, and a signal ends it with
 * fewer. After a kick the rest of them is waited for. (Not with VTIME, whose clock
 * runs between bytes.)
 */
static long least(int fd, long count)
{
	struct fib_modes m;

	if (fib_raw(SYS_ioctl, fd, TCGETS, &m) || (m.lflag & ICANON) ||
	    m.cc[VTIME])
		return 0;
	return count < m.cc[VMIN] ? count : m.cc[VMIN];
}

/*
 * What came with the last of them is in the same read: whatever is there, by a
 * description of the terminal that does not wait. Another reader may be faster.
 * While the call is counted in tries (runtime/iom.h), the number stays its file's.
 */
static long what_is_there(struct fib_fd *s, uint32_t closes, char *buf,
			  size_t size)
{
	char path[64] = "/proc/self/task/";
	size_t n = 16;
	long r = 0;

	n += fib_put_decimal(
		path + n, (unsigned)fib_load(&fib_worker_self()->tid, relaxed));
	memcpy(path + n, "/fd/", 4);
	fib_put_decimal(path + n + 4, (unsigned)s->fd);
	if (fib_iom_enter(s) == closes && !fib_filtered())
		r = fib_read_aside_now(path, buf, size);
	fib_iom_leave(s);
	return r > 0 ? r : 0;
}

long fib_io_read_tty(struct fib_known *k, long nr, const long a[6])
{
	struct fib *f = fib_self();
	struct fib_fd *s = k->slot;
	uint32_t closes = fib_load(&s->closes, relaxed);
	long v[6] = { a[0], a[1], a[2] }, r, done = 0, want = 0;

	do {
		fib_store(&f->sig.kicked, false, relaxed);
		r = read_once(k, closes, nr, v);
		if (r <= 0 || nr != SYS_read)
			break;
		if (fib_unlikely(fib_load(&f->sig.kicked, relaxed)) && !done)
			want = least(k->fd, a[2]);
		done += r;
		v[1] += r;
		v[2] = want - done;
	} while (fib_unlikely(done < want) && fib_io_was_cut());
	if (want && done == want && r != done && done < a[2])
		done += what_is_there(s, closes, (char *)v[1],
				      (size_t)(a[2] - done));
	return done ? done : r;
}
