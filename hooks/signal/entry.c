/*
 * The kernel's own signal handler, on a worker's alternate stack.
 *
 * It is entered for faults and for kicks, and runs no handler of the program's:
 * it copies the kernel's frame to the fiber's stack, sends the fiber to
 * sigframe.S, and returns. From there the fiber runs its handlers as ordinary
 * code, and goes back through rt_sigreturn, on whatever worker it is by then.
 */
#include "hooks/signal/state.h"
#include "frame_arch.h"
#include "regs_arch.h"

#define OWN_FRAMES 2048 /* what divert() and whom it calls may need */
/* What fib_sigframe_deliver() and call_handler() need before the handler. */
#define DELIVER_FRAMES 512

/*
 * As force_sig_fault() of the kernel where there is no handler. A fault comes
 * again when this one has returned, with the address and registers that it had.
 * What a trap, a filter or somebody raised does not: that is sent again, and
 * waits in the mask until then.
 */
static void die_of(int sig, const siginfo_t *info)
{
	uint64_t set = FIB_SIG(sig);

	fib_sig_kernel_action(sig, (uintptr_t)SIG_DFL);
	if (info->si_code > 0 && sig != SIGTRAP && sig != SIGSYS)
		return;
	fib_raw(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	fib_raw(SYS_rt_tgsigqueueinfo, fib_raw(SYS_getpid), fib_raw(SYS_gettid),
		sig, info);
}

static bool on_altstack_of(const struct fib_worker *w, uintptr_t at)
{
	return at - (uintptr_t)w->altstack < FIB_ALTSTACK_SIZE;
}

/*
 * A kernel thread that was born under a filter could not ask for its alternate
 * stack. It gets it when it returns from its first signal, which comes on the
 * fiber's stack.
 */
static void lend_altstack(struct fib_worker *w, ucontext_t *uc)
{
	if (!w || !w->process.filtered ||
	    on_altstack_of(w, (uintptr_t)__builtin_frame_address(0)))
		return;
	uc->uc_stack.ss_sp = w->altstack;
	uc->uc_stack.ss_size = FIB_ALTSTACK_SIZE;
	uc->uc_stack.ss_flags = 0;
}

/*
 * Lay a copy of the kernel's frame where the fiber can run handlers; or not, where
 * the kernel's own would not fit the alternate stack, or cannot be written.
 */
static bool divert(struct fib *f, int sig, const siginfo_t *info,
		   ucontext_t *uc, unsigned long flags)
{
	uint32_t fp_size;
	const void *fp = fib_uc_fp(uc, &fp_size);
	uintptr_t sp = fib_uc_sp(uc), fp_at, at;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	bool enters = fib_altstack_wanted(f, flags, sp);
	bool on_it = enters || fib_altstack_in_use(f, sp);
	struct fib_sigframe *frame;

	sp = enters ? f->sig.altstack_sp + f->sig.altstack_size :
		      sp - FIB_RED_ZONE;
	/* The same stack, see lend_altstack(): below our own frames. */
	if (!enters && !on_altstack_of(fib_worker_self(), here))
		sp = here - OWN_FRAMES;
	fp_at = fib_sigframe_place(sp, fp_size, &at);
	if (on_it && !fib_altstack_has(f, at - DELIVER_FRAMES))
		return false;
	frame = (struct fib_sigframe *)at;
	/* The stack may not be there, or not be for writing. */
	if (fib_copy(frame->raw, uc, FIB_KERNEL_UC_SIZE) ||
	    fib_copy(&frame->info, info, sizeof(*info)) ||
	    fib_copy(&frame->pretcode, &(uint64_t){ 0 }, 8) ||
	    (fp && fib_copy((void *)fp_at, fp, fp_size)))
		return false;
	if (fp)
		fib_sigframe_set_fp(frame, fp_at);
	fib_uc_divert(uc, frame, sig);
	fib_store(&f->hook.in_hook, 1, relaxed);
	return true;
}

/*
 * What the handler wants that will be called first. Natively nothing is written where there
 * is none, and a program that has an alternate stack may have nothing to spare on the other
 * one: code of BEAM's JIT has an Erlang heap below its stack pointer.
 */
static unsigned long flags_of_next(const struct fib *f)
{
	uint64_t set = fib_load(&f->sig.pending, relaxed) &
		       ~fib_load(&f->sig.mask, relaxed);
	struct fib_kernel_sigaction a = { 0 };

	if (set)
		a = fib_signal_action(__builtin_ctzl(set) + 1);
	return a.handler > 1 ? a.flags : SA_ONSTACK;
}

static void kicked(struct fib *f, const siginfo_t *info, ucontext_t *uc)
{
	uintptr_t ip = fib_uc_ip(uc);

	if (!fib_load(&f->attention, relaxed) &&
	    !fib_load(&f->sig.preempt, relaxed))
		return;
	fib_uc_set_ip(uc, fib_raw_intr_fixup(ip));
	if (fib_load(&f->hook.in_hook, relaxed))
		return;
	if (fib_sigframe_ends(ip)) {
		fib_uc_set_ip(uc, (uintptr_t)fib_sigframe_again);
		return;
	}
	/* The call that was to end has done so by itself: the code goes on as it is. */
	if (fib_and(&f->sig.preempt, (uint8_t)~FIB_PREEMPT_CALL, seq_cst) ==
		    FIB_PREEMPT_CALL &&
	    !fib_load(&f->attention, relaxed))
		return;
	/* It needs nothing of the stack if the handler is for the other one. */
	if (!divert(f, 0, info, uc, flags_of_next(f)))
		divert(f, 0, info, uc, 0);
}

/* force_sigsegv() of the kernel. */
static void force_segv(struct fib *f, int sig, const siginfo_t *fault,
		       ucontext_t *uc)
{
	struct fib_kernel_sigaction a = fib_signal_action(SIGSEGV);
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SI_KERNEL };

	if (sig == SIGSEGV)
		die_of(SIGSEGV, fault);
	else if (a.handler <= 1 ||
		 (fib_load(&f->sig.mask, relaxed) & FIB_SIG(SIGSEGV)) ||
		 !divert(f, SIGSEGV, &info, uc, a.flags))
		fib_signal_force(SIGSEGV);
}

static void foreign(int sig, siginfo_t *info, void *uc)
{
	struct fib_kernel_sigaction a = fib_signal_action(sig);

	if (a.handler > 1)
		((void (*)(int, siginfo_t *, void *))a.handler)(sig, info, uc);
	else
		die_of(sig, info);
}

void fib_sig_entry(int sig, siginfo_t *info, void *ucp)
{
	struct fib_worker *w = fib_worker_self();
	ucontext_t *uc = ucp;
	struct fib *f = w ? w->cur : NULL;
	struct fib_kernel_sigaction a;
	uintptr_t fix;

	lend_altstack(w, uc);
	if (sig == FIB_KICK) {
		fib_sig_host->kicked(w);
		if (f) {
			fib_store(&f->sig.kicked, true, relaxed);
			kicked(f, info, uc);
		} else if (w) {
			fib_store(&w->sig.kicked, true, relaxed);
			fib_uc_set_ip(uc, fib_raw_intr_fixup(fib_uc_ip(uc)));
		}
		return;
	}
	fix = fib_fault_fixup(fib_uc_ip(uc));
	if (info->si_code > 0 && fix) {
		fib_uc_set_ip(uc, fix);
		return;
	}
	if (w && info->si_code <= 0) {
		fib_sig_post(sig, info);
		if (f)
			fib_store(&f->sig.kicked, true, relaxed);
		return;
	}
	if (!w) {
		foreign(sig, info, uc);
		return;
	}
	/* In the scheduler itself: no stack of the program's is at hand. */
	if (!f) {
		die_of(sig, info);
		return;
	}
	a = fib_signal_action(sig);
	if (a.handler <= 1 || (fib_load(&f->sig.mask, relaxed) & FIB_SIG(sig)))
		die_of(sig, info);
	else if (!divert(f, sig, info, uc, a.flags))
		force_segv(f, sig, info, uc);
}

struct fib *fib_sigframe_deliver(struct fib_sigframe *frame, int sig)
{
	struct fib *f = fib_self();
	uint8_t door = f->hook.door;
	struct fib_regs *regs = f->hook.regs;
	struct fib_worker *w;

	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
	f->hook.door = FIB_DOOR_SYMBOL;
	f->hook.regs = NULL;
	f->sig.frame = frame;
	/* The last round left the worker's. */
	frame->uc.uc_stack = fib_altstack_get(f);
	if (sig) {
		struct fib_kernel_sigaction a =
			fib_sig_delivery_action(sig, &frame->info);

		if (a.handler > 1)
			fib_sig_run_handler(f, sig, &frame->info, &a, false);
	}
	fib_signal_deliver(f, FIB_FINDS_NO_CALL);
	if (fib_unlikely(fib_xchg(&f->sig.preempt, false, relaxed)))
		fib_sched_preempted();
	f->sig.frame = NULL;
	f->hook.door = door;
	f->hook.regs = regs;
	/* rt_sigreturn sets the worker's mask and alternate stack. */
	w = fib_worker_self();
	/* None any more: the handler forked, or left the runtime. */
	if (fib_unlikely(!w)) {
		frame->uc.uc_sigmask = fib_load(&f->sig.mask, relaxed);
		return f;
	}
	frame->uc.uc_sigmask = fib_signal_worker_mask();
	frame->uc.uc_stack.ss_sp = w->altstack;
	frame->uc.uc_stack.ss_size = FIB_ALTSTACK_SIZE;
	frame->uc.uc_stack.ss_flags = 0;
	return f;
}
