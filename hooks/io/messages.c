/* Several messages by one call: sendmmsg. (recvmmsg is of net.c.) */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"

static bool has_control(const struct mmsghdr *v, unsigned n)
{
	struct msghdr h;

	for (unsigned i = 0; i < n && i < FIB_IOV_MAX; i++) {
		if (fib_copy(&h, &v[i].msg_hdr, sizeof(h)))
			return false;
		if (h.msg_controllen)
			return true;
	}
	return false;
}

/*
 * Nothing is to be sent, only looked for the way: of all that is said to be sent
 * nothing is taken, and so ___sys_sendmmsg() ends with the first.
 */
#define ONLY_PROBES 0x10 /* MSG_PROBE */

static bool only_probes(const struct fib_known *k, int flags)
{
	return (flags & ONLY_PROBES) && k->kind == FIB_FD_DGRAM;
}

/* Where the file is by now that was @k's when closes was @closes; NULL: lost. */
static struct fib_known *kept(struct fib_known *k, uint32_t closes)
{
	struct fib_hold *h = fib_self()->io.keeps;
	struct fib_fd *s = h ? fib_iom_try(h) : NULL;

	if (s) {
		fib_iom_tried(h);
		return fib_fd_of(s);
	}
	return !h && fib_load(&k->slot->closes, relaxed) == closes ? k : NULL;
}

/*
 * One message after the other, and none after one that went in part: all to the same
 * file, whatever becomes of the number meanwhile.
 */
static long send_each(struct fib_known *k, struct mmsghdr *v, unsigned n,
		      int flags)
{
	uint32_t closes = fib_load(&k->slot->closes, relaxed);
	struct fib *f = fib_self();
	struct fib_hold file;
	bool whole = true;
	unsigned i;
	long r = n ? -EBADF : 0;

	if (n > 1 && fib_iom_hold(k->slot, &file, closes))
		f->io.keeps = &file;
	for (i = 0; i < n && whole && (k = kept(k, closes)); i++) {
		unsigned len;

		r = fib_io_send_message(k, &v[i].msg_hdr, flags, &whole);
		len = (unsigned)r;
		if (r >= 0 && fib_copy(&v[i].msg_len, &len, sizeof(len)))
			r = -EFAULT;
		if (r < 0)
			break;
		fib_part_done();
	}
	if (f->io.keeps)
		fib_iom_let_go(f->io.keeps);
	f->io.keeps = NULL;
	return i ? (long)i : r;
}

long fib_sys_sendmmsg(int fd, void *vec, unsigned n, int flags)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)vec, n, flags }, r;

	if (k)
		a[3] = flags = fib_io_heeded_send(k, flags);
	if (k && !(flags & MSG_DONTWAIT) && !only_probes(k, flags) &&
	    !fib_io_never_waits(k, &a[3]))
		return send_each(k, vec, n < FIB_IOV_MAX ? n : FIB_IOV_MAX,
				 flags);
	if (has_control(vec, n))
		fib_fd_shared();
	r = k ? fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_sendmmsg, a) :
		fib_pass(SYS_sendmmsg, a);
	/* The signal of one comes beside those that went before, too. */
	if (r == -EPIPE || (r > 0 && (unsigned)r < n))
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return r;
}
