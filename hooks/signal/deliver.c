/*
 * Delivery: handlers run, called from the end of a hook, or over a copy of the
 * kernel's frame (entry.c). signal.h has the protocol.
 */
#include "hooks/signal/state.h"
#include "ctx_arch.h"
#include "frame_arch.h"
#include "pkru_arch.h"
#include "runtime/chaos.h"

/* force_sigsegv() of the kernel: there is no stack for the handler of @sig. */
static void force_segv(struct fib *f, int sig)
{
	siginfo_t info = { .si_code = SI_KERNEL };

	if (sig == SIGSEGV || fib_sig_act[SIGSEGV].handler <= 1 ||
	    (fib_load(&f->sig.mask, relaxed) & FIB_SIG(SIGSEGV)))
		fib_signal_force(SIGSEGV);
	else
		fib_signal_send(f, SIGSEGV, &info, false);
}

/*
 * Where the alternate stack begins for a handler that goes there; 0: it stays.
 * A frame that divert() has laid there is not to be overwritten.
 */
static uintptr_t altstack_top(const struct fib *f, unsigned long flags,
			      uintptr_t sp)
{
	if ((f->sig.frame && fib_altstack_has(f, sp)) ||
	    !fib_altstack_wanted(f, flags, sp))
		return 0;
	return f->sig.altstack_sp + f->sig.altstack_size;
}

/*
 * The kernel's frame would not fit the alternate stack, and it raises SIGSEGV.
 * Ours lies elsewhere; or, where that stack is in use already, takes a little
 * more of it (handle_with_vectors() and what it calls).
 */
#define HANDLE_FRAMES 2304

static bool overflows_altstack(struct fib *f,
			       const struct fib_kernel_sigaction *a)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0), frame;
	uintptr_t top = altstack_top(f, a->flags, sp);

	if (top)
		sp = top;
	else if (f->sig.frame || !fib_altstack_in_use(f, sp))
		return false;
	fib_sigframe_place(sp, fib_xsave_native_size, &frame);
	if (!top && frame > sp - fib_xsave_size - HANDLE_FRAMES)
		frame = sp - fib_xsave_size - HANDLE_FRAMES;
	return !fib_altstack_has(f, frame);
}

/* Nested in another handler or not: the mask before, which is put back after. */
static uint64_t mask_for_handler(struct fib *f, const siginfo_t *info,
				 const struct fib_kernel_sigaction *a)
{
	uint64_t mask = fib_load(&f->sig.mask, relaxed);
	uint64_t before = f->hook.restore_mask ? f->sig.saved_mask : mask;

	f->hook.restore_mask = FIB_MASK_NONE;
	f->sig.open = 0;
	mask |= a->mask & ~FIB_UNBLOCKABLE;
	if (!(a->flags & SA_NODEFER))
		mask |= FIB_SIG(info->si_signo);
	fib_sig_close_mask(f, info, mask);
	fib_sig_retarget(f);
	return before;
}

/* The handler itself, with @uc for its third argument. */
static void call_handler(struct fib *f, int sig, siginfo_t *info,
			 const struct fib_kernel_sigaction *a, ucontext_t *uc,
			 uint64_t *uc_mask)
{
	void (*handler)(int, siginfo_t *, void *) = (void *)a->handler;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct fib_regs *regs = f->hook.regs;
	struct fib_sigframe *frame = f->sig.frame;
	uintptr_t top = altstack_top(f, a->flags, sp);
	uint64_t deadline = f->io.restart_deadline;
	uint64_t wait_arg = f->wait_arg;
	uint32_t pkru = FIB_PKRU_INIT;
	uint8_t door = f->hook.door;
	uint16_t call = f->hook.call;
	uint8_t calls = f->hook.calls, passed_over = f->passed_over;
	struct fib_float fp;
	int err = 0;

	*uc_mask = mask_for_handler(f, info, a);
	f->sig.frame = NULL;
	fib_count(signals);
	fib_signal_rewatch(FIB_SIG(sig));
	if (fib_pkru_is_used()) {
		pkru = fib_rdpkru();
		fib_wrpkru(FIB_PKRU_INIT);
	}
	/* As the kernel, which stacks the frames of all that are pending. */
	if (fib_sig_handler_waits(f))
		fib_store(&f->attention, 1, seq_cst);
	if ((unsigned)f->sig.altstack_flags & FIB_SS_AUTODISARM)
		fib_altstack_set(f, &(stack_t){ .ss_flags = SS_DISABLE }, sp,
				 0);
	fib_float_put_by(&fp);
	fib_hook_leave(f);
	if (top)
		err = fib_call_on_stack(handler, sig, info, uc, top);
	else
		handler(sig, info, uc);
	fib_barrier();
	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
	fib_float_take_back(&fp);
	if (fib_pkru_is_used())
		fib_wrpkru(pkru);
	f->hook.regs = regs;
	f->sig.frame = frame;
	f->hook.door = door;
	f->hook.call = call;
	/* Its calls and waits are not those of whom it interrupts: hooks/futex/futex.c. */
	f->hook.calls = calls;
	f->passed_over = passed_over & 15;
	f->wait_arg = wait_arg;
	f->io.restart_deadline = deadline;
	/* Refused, as natively, for a handler that was on that stack. */
	fib_altstack_set(f, &uc->uc_stack, top ? top : sp, 0);
	fib_store(&f->sig.mask, *uc_mask & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_mask_changed(f);
	if (fib_unlikely(!fib_worker_self()))
		fib_sig_to_kernel(
			f); /* the handler forked, or left the runtime */
	if (fib_unlikely(err))
		force_segv(f, sig);
}

static void handle_in_hook(struct fib *f, int sig, siginfo_t *info,
			   const struct fib_kernel_sigaction *a, bool again)
{
	char fp[FIB_FP_SIZE + FIB_FP_ALIGN];
	ucontext_t uc;

	fib_uc_fill(&uc, (void *)FIB_ALIGN_UP((uintptr_t)fp, FIB_FP_ALIGN),
		    f->hook.regs, again);
	uc.uc_stack = fib_altstack_get(f);
	call_handler(f, sig, info, a, &uc, (uint64_t *)&uc.uc_sigmask);
}

static void __attribute__((noinline))
handle_with_vectors(struct fib *f, int sig, siginfo_t *info,
		    const struct fib_kernel_sigaction *a, bool again)
{
	char area[fib_xsave_size + 64];
	void *at = (void *)FIB_ALIGN_UP((uintptr_t)area, 64);

	fib_xsave(at, FIB_VECTORS_ALL);
	handle_in_hook(f, sig, info, a, again);
	fib_xrstor(at, FIB_VECTORS_ALL);
}

void fib_sig_run_handler(struct fib *f, int sig, siginfo_t *info,
			 const struct fib_kernel_sigaction *a, bool again)
{
	if (overflows_altstack(f, a)) {
		fib_sig_close_mask(f, info, fib_load(&f->sig.mask, relaxed));
		force_segv(f, sig);
	} else if (f->sig.frame)
		call_handler(f, sig, info, a, (ucontext_t *)&f->sig.frame->uc,
			     &f->sig.frame->uc.uc_sigmask);
	else if (f->hook.door == FIB_DOOR_SITE)
		handle_with_vectors(f, sig, info, a, again);
	else
		handle_in_hook(f, sig, info, a, again);
}

/* @f is the caller: its call does not go on. */
static bool is_over(const struct fib *f)
{
	return fib_sig_handler_waits(f) || fib_stop_came();
}

/*
 * Who ends the call, or has it begin anew, notes that first, and gives attention then: where
 * that is taken away here, the second look sees what was noted.
 */
bool fib_attention_clear(struct fib *f)
{
	if (is_over(f))
		return false;
	fib_xchg(&f->attention, 0, seq_cst);
	fib_sig_host->attention(f);
	if (!is_over(f))
		return true;
	fib_store(&f->attention, 1, seq_cst);
	return false;
}

static int next_signal(struct fib *f, siginfo_t *info)
{
	uint64_t set = fib_sig_deliverable(f);

	return fib_unlikely(f->sig.looks) ? fib_sig_dequeue_any(f, set, info) :
					    fib_sig_dequeue(f, set, info);
}

bool fib_signal_deliver(struct fib *f, enum fib_finding finding)
{
	bool again = finding >= FIB_FINDS_RESTART, ran = false, first;
	siginfo_t info;
	int sig;

	fib_xchg(&f->attention, 0, seq_cst);
	fib_sig_host->attention(f);
	if (finding != FIB_FINDS_NO_CALL && fib_unlikely(fib_cancel_is_near()))
		fib_signal_deliver_cancel(f);
	if (finding != FIB_FINDS_NO_CALL && fib_unlikely(f->io.handled)) {
		ran = true;
		if (f->io.handled == FIB_HANDLED_EINTR &&
		    finding != FIB_FINDS_AGAIN)
			again = false;
	}
	/* Those that have pended together, as in a stop, are handled together. */
	if (fib_sig_handler_waits(f))
		fib_sig_await_forward();
	while ((sig = next_signal(f, &info))) {
		struct fib_kernel_sigaction a =
			fib_sig_delivery_action(sig, &info);

		if (a.handler <= 1 || sig == FIB_KICK) {
			fib_sig_close_mask(f, &info,
					   fib_load(&f->sig.mask, relaxed));
			fib_signal_rewatch(FIB_SIG(sig));
			/* What came in a stop, and ended it, is handled when the call returns. */
			if (FIB_SIG(sig) & FIB_SIG_STOPS)
				fib_signal_sync(~0ull);
			/* What it has woken ends as by a stop. */
			if (fib_load(&f->io.stop, relaxed) == FIB_STOP_ENDS) {
				ran = true;
				again = false;
			}
			continue;
		}
		if (fib_unlikely(a.flags & SA_RESETHAND) &&
		    fib_sig_ignored_by_default(sig))
			fib_sig_reset_ignored(f, sig);
		/* The first one decides, as in handle_signal() of the kernel. */
		if (!ran && !(a.flags & SA_RESTART) &&
		    finding != FIB_FINDS_AGAIN)
			again = false;
		first = !ran;
		ran = true;
		fib_sig_run_handler(f, sig, &info, &a, again);
		if (first)
			f->sig.handled = a.flags & SA_RESTART ?
						 FIB_HANDLED_RESTART :
						 FIB_HANDLED_EINTR;
	}
	f->sig.looks = false;
	if (f->hook.restore_mask) {
		f->hook.restore_mask = FIB_MASK_NONE;
		fib_store(&f->sig.mask, f->sig.saved_mask, seq_cst);
		fib_signal_mask_changed(f);
	}
	/* Another one has taken it, meanwhile perhaps. */
	return ran ? again : !fib_stop_ended();
}

/*
 * libc's handler decides, and may be asked more than once: a signal that came
 * on the way from the site to here has not been for nothing. It is the program's
 * code: what has ended a call beside the cancel is handled on its way in, or in a
 * call that it makes, and if it returns, that call is to know (io.handled).
 */
void fib_signal_deliver_cancel(struct fib *f)
{
	uint8_t handled = f->io.handled, kind = f->hook.restore_mask;
	uint64_t mask = fib_load(&f->sig.mask, relaxed);
	uint64_t saved = f->sig.saved_mask;
	struct fib_kernel_sigaction a;
	siginfo_t info;

	if (fib_load(&f->sig.mask, relaxed) & FIB_SIG(FIB_SIGCANCEL))
		return;
	if (!fib_signal_dequeue(f, FIB_SIG(FIB_SIGCANCEL), &info)) {
		if (!fib_load(&f->hook.cancelled, acquire) ||
		    f->hook.door != FIB_DOOR_SITE)
			return;
		memset(&info, 0, sizeof(info));
		info.si_signo = FIB_SIGCANCEL;
		info.si_code = SI_TKILL;
		info.si_pid = fib_signal_pid;
	}
	a = fib_sig_delivery_action(FIB_SIGCANCEL, &info);
	if (a.handler <= 1)
		return;
	f->sig.handled = FIB_HANDLED_NONE;
	if (kind == FIB_MASK_LATER)
		f->hook.restore_mask = FIB_MASK_NONE;
	fib_sig_run_handler(f, FIB_SIGCANCEL, &info, &a, true);
	if (fib_unlikely(!fib_worker_self()))
		return; /* a handler inside it forked: the kernel sees to the rest */
	/* It has returned: the call goes on with its mask. */
	f->hook.restore_mask = kind;
	f->sig.saved_mask = saved;
	if (kind > FIB_MASK_LATER) {
		saved = fib_load(&f->sig.mask, relaxed);
		fib_store(&f->sig.mask, mask, seq_cst);
		fib_signal_unblocked(f, saved & ~mask);
	}
	f->io.handled = (handled ? handled : f->sig.handled) & 3;
}

void fib_hook_leave(struct fib *f)
{
	while (!fib_hook_try_leave(f))
		fib_signal_deliver(f, FIB_FINDS_NO_CALL);
}
