/*
 * Is a signal handler under way?
 *
 * A frame of the kernel's must not outlive activation: its saved pc may lie in
 * a window that is rewritten, right behind a syscall instruction; and its mask
 * and alternate stack, which sigreturn gives to the kernel thread, would be the
 * program's on a worker. So a first thread that is made in a handler is a
 * kernel thread, and the program runs unhooked.
 *
 * Frames are looked for by what they look like, from the caller's on to the end
 * of the stack. One that is left over from a handler that has returned may lie in
 * a gap there: as a rule more is blocked within a handler than before it. Where the program
 * itself blocks more, as many do who create a thread, the unwinder tells: a handler has returned
 * if none is on the way from here to _start.
 */
#include <execinfo.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include "frame_arch.h"
#include "hooks/signal/signal.h"
#include "preload/preload.h"

#define PAGES_MAX 2048 /* of the stack that are searched */

/* Does some handler leave its signal open? */
static bool any_nodefer(void)
{
	struct fib_kernel_sigaction a;

	for (int sig = 1; sig <= 64; sig++)
		if (!fib_raw(SYS_rt_sigaction, sig, 0, &a, 8) &&
		    a.handler > 1 && (a.flags & SA_NODEFER))
			return true;
	return false;
}

/*
 * If the way does not lead to _start, nothing is known. libc loads the unwinder, which a
 * filter may take offence at.
 */
static bool has_returned(const struct fib_sigframe *s)
{
	enum { DEPTH = 256, START_SIZE = 64 };
	void *pc[DEPTH];
	int n = backtrace(pc, DEPTH);

	for (int i = 0; i < n; i++)
		if ((uintptr_t)pc[i] == s->pretcode)
			return false;
	return n > 0 && (uintptr_t)pc[n - 1] - getauxval(AT_ENTRY) < START_SIZE;
}

/* Handlers are asked for where something looks like a frame: hardly ever. */
static bool is_frame(const struct fib_sigframe *s, uint64_t mask, bool filtered)
{
	uint64_t before = s->uc.uc_sigmask;

	return fib_sigframe_plausible(s) && !(before & ~mask) &&
	       ((mask & ~before) || any_nodefer()) &&
	       (filtered || !has_returned(s));
}

/* Mapped, and to be read: no guard. It compares a word, and moves nobody. */
static bool is_there(uintptr_t page)
{
	return fib_raw(SYS_futex, page, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, page,
		       0) != -EFAULT;
}

bool fib_in_handler(uint64_t mask, bool filtered)
{
	uintptr_t at = (uintptr_t)__builtin_frame_address(0) & ~15ul;
	uintptr_t end = (at & -FIB_PAGE) + FIB_PAGE;
	stack_t ss = { .ss_flags = 0 };

	fib_raw(SYS_sigaltstack, 0, &ss);
	if (ss.ss_flags & SS_ONSTACK)
		return true;
	/* The kernel lays them 8 bytes below a multiple of 16. */
	at += 8;
	for (int pages = 0; pages < PAGES_MAX; at += 16) {
		while (at + sizeof(struct fib_sigframe) > end) {
			if (++pages == PAGES_MAX || !is_there(end))
				return false;
			end += FIB_PAGE;
		}
		if (is_frame((const struct fib_sigframe *)at, mask, filtered))
			return true;
	}
	return false;
}
