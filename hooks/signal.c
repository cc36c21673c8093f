/*
 * Signals: who gets them, and where handlers run.
 *
 * The kernel knows workers, the program knows fibers. So:
 *
 * - Masks are the fibers' (sigmask); no system call changes one. Workers have
 *   every asynchronous signal blocked for good. Only the six that faults raise
 *   and KICK are open.
 * - Dispositions are the program's, in the table fib_sig_act[] and, but for the faults
 *   and libc's own two, in the kernel as well: default actions, exec and fork
 *   see what they would natively.
 * - A signal for one fiber (tgkill, raise, SIGPIPE, ...) goes to its queue. One
 *   for the process stays in the kernel until the receiver (receiver.c) finds a
 *   fiber that does not block it, main first, as kernel/signal.c does.
 * - A sender queues, sets attention, wakes the fiber if it is parked, and kicks
 *   the worker if it is running:
 *
 *	sender				fiber f
 *	------				-------
 *	queue, sigpend |= bit		end of a hook:
 *	attention = 1		(A)	in_hook = 0		(B)
 *	wake(f)				attention? then deliver
 *	f->on: kick that worker
 *
 *   A park ends on attention. A hook's end looks at attention after (B). In
 *   the program's own code, in_hook is 0, and the kick's handler diverts the
 *   fiber. In between nothing is lost, since the kick comes after (A): either
 *   its handler sees in_hook == 0, or the fiber passes (B) later.
 * - Handlers run on the fiber's own stack (or its sigaltstack), called from the
 *   end of a hook, or from a copy of the kernel's frame if the fiber was
 *   interrupted in its own code. They are ordinary code of the fiber: they may
 *   block, migrate, longjmp, unwind.
 *
 * - Default actions wait for no fiber: sigdefault.c.
 *
 * One lock guards fib_sig_act[] and all queues; it is never held while a handler runs.
 * It ranks above the scheduler's.
 */
#include "hooks/sigstate.h"
#include "hooks/sigframe.h"
#include "preload/arch/x86_64/regs.h"
#include "runtime/arch/x86_64/ctx.h"
#include "runtime/arch/x86_64/offsets.h"
#include "runtime/arch/x86_64/pkru.h"
#include "runtime/chaos.h"

_Static_assert(offsetof(struct fib, attention) == FIB_OFFSET_ATTENTION, "");
_Static_assert(offsetof(struct fib, in_hook) == FIB_OFFSET_IN_HOOK, "");

#define RED_ZONE 128

struct fib_lock fib_sig_lock;
struct fib_kernel_sigaction fib_sig_act[65];
int fib_sig_pid;
_Atomic uint64_t fib_signal_handled;

struct fib_kernel_sigaction fib_signal_action(int sig)
{
	return fib_sig_act[sig];
}

uint64_t fib_signal_worker_mask(void)
{
	return ~(FIB_FAULTS | FIB_SIG(FIB_KICK) | FIB_UNBLOCKABLE);
}

void fib_signal_note_handler(int sig)
{
	if (fib_sig_act[sig].handler > 1)
		fib_or(&fib_signal_handled, FIB_SIG(sig), relaxed);
	else
		fib_and(&fib_signal_handled, ~FIB_SIG(sig), relaxed);
}

/* --- delivery ------------------------------------------------------------ */

void fib_signal_kernel_action(int sig, uintptr_t handler)
{
	struct fib_kernel_sigaction a = { .handler = handler };

	fib_raw(SYS_rt_sigaction, sig, &a, 0, 8);
}

bool fib_signal_on_altstack(const struct fib *f, unsigned long flags,
			    uintptr_t sp)
{
	return (flags & SA_ONSTACK) && f->altstack_size &&
	       !fib_altstack_in_use(f, sp);
}

#define SYSCALL_BYTES 2

/* What a handler sees of a fiber that it finds in a system call. */
static void fill_context(struct fib *f, ucontext_t *uc, void *fpregs,
			 bool again)
{
	greg_t *g = uc->uc_mcontext.gregs;
	const struct fib_regs *r = f->regs;

	memset(uc, 0, sizeof(*uc));
	uc->uc_stack = fib_altstack_get(f);
	__asm__ volatile("fxsave64 (%0)" : : "r"(fpregs) : "memory");
	uc->uc_mcontext.fpregs = fpregs;
	g[REG_RSP] = (greg_t)(uintptr_t)__builtin_frame_address(0);
	g[REG_RIP] = (greg_t)(uintptr_t)__builtin_return_address(0);
	if (!r)
		return;
	g[REG_RIP] = (greg_t)(again ? r->rip - SYSCALL_BYTES : r->rip);
	g[REG_RSP] = (greg_t)((uintptr_t)(r + 1) + RED_ZONE);
	g[REG_RBP] = (greg_t)r->rbp;
	g[REG_RBX] = (greg_t)r->rbx;
	g[REG_RDI] = (greg_t)r->rdi;
	g[REG_RSI] = (greg_t)r->rsi;
	g[REG_RDX] = (greg_t)r->rdx;
	g[REG_RAX] = (greg_t)r->rax;
	g[REG_R8] = (greg_t)r->r8;
	g[REG_R9] = (greg_t)r->r9;
	g[REG_R10] = (greg_t)r->r10;
	g[REG_R12] = (greg_t)r->r12;
	g[REG_R13] = (greg_t)r->r13;
	g[REG_R14] = (greg_t)r->r14;
	g[REG_R15] = (greg_t)r->r15;
}

/* What may be delivered anywhere: SIGCANCEL has its places (wait.c). */
static uint64_t deliverable(const struct fib *f)
{
	uint64_t open = ~fib_load(&f->sigmask, relaxed);

	return f->cancel_async ? open : open & ~FIB_SIG(FIB_SIGCANCEL);
}

static bool handler_waits(const struct fib *f)
{
	return fib_load(&f->sigpend, relaxed) & deliverable(f);
}

/* force_sigsegv() of the kernel: there is no stack for the handler of @sig. */
static void no_stack(struct fib *f, int sig)
{
	siginfo_t info = { .si_code = SI_KERNEL };

	if (sig == SIGSEGV || fib_sig_act[SIGSEGV].handler <= 1 ||
	    (fib_load(&f->sigmask, relaxed) & FIB_SIG(SIGSEGV)))
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
	if ((f->sigframe && fib_altstack_has(f, sp)) ||
	    !fib_signal_on_altstack(f, flags, sp))
		return 0;
	return f->altstack_sp + f->altstack_size;
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
	else if (f->sigframe || !fib_altstack_in_use(f, sp))
		return false;
	fib_sigframe_place(sp, fib_xsave_native_size, &frame);
	if (!top && frame > sp - fib_xsave_size - HANDLE_FRAMES)
		frame = sp - fib_xsave_size - HANDLE_FRAMES;
	return !fib_altstack_has(f, frame);
}

/* The handler itself, with @uc for its third argument. */
static void call_handler(struct fib *f, int sig, siginfo_t *info,
			 const struct fib_kernel_sigaction *a, ucontext_t *uc,
			 uint64_t *uc_mask)
{
	void (*handler)(int, siginfo_t *, void *) = (void *)a->handler;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uint64_t mask = fib_load(&f->sigmask, relaxed);
	struct fib_regs *regs = f->regs;
	struct fib_sigframe *frame = f->sigframe;
	uintptr_t top = altstack_top(f, a->flags, sp);
	uint64_t deadline = f->restart_deadline;
	uint32_t pkru = FIB_PKRU_INIT;
	uint8_t door = f->door;
	uint16_t call = f->call;
	int err = 0;

	*uc_mask = f->restore_mask ? f->saved_mask : mask;
	f->restore_mask = FIB_MASK_NONE;
	mask |= a->mask & ~FIB_UNBLOCKABLE;
	if (!(a->flags & SA_NODEFER))
		mask |= FIB_SIG(sig);
	fib_store(&f->sigmask, mask, seq_cst);
	f->sigframe = NULL;
	fib_count(signals);
	fib_signal_recheck(FIB_SIG(sig));
	if (fib_pkru_is_used()) {
		pkru = fib_rdpkru();
		fib_wrpkru(FIB_PKRU_INIT);
	}
	/* As the kernel, which stacks the frames of all that are pending. */
	if (handler_waits(f))
		fib_store(&f->attention, 1, seq_cst);
	if ((unsigned)f->altstack_flags & FIB_SS_AUTODISARM)
		fib_altstack_set(f, &(stack_t){ .ss_flags = SS_DISABLE }, sp, 0);
	fib_hook_leave(f);
	if (top)
		err = fib_call_on_stack(handler, sig, info, uc, top);
	else
		handler(sig, info, uc);
	fib_barrier();
	fib_store(&f->in_hook, 1, relaxed);
	fib_barrier();
	if (fib_pkru_is_used())
		fib_wrpkru(pkru);
	f->regs = regs;
	f->sigframe = frame;
	f->door = door;
	f->call = call;
	f->restart_deadline = deadline;
	/* Refused, as natively, for a handler that was on that stack. */
	fib_altstack_set(f, &uc->uc_stack, top ? top : sp, 0);
	fib_store(&f->sigmask, *uc_mask & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_mask_changed(f);
	if (fib_unlikely(err))
		no_stack(f, sig);
}

static void handle_in_hook(struct fib *f, int sig, siginfo_t *info,
			   const struct fib_kernel_sigaction *a, bool again)
{
	char fp[512 + 16];
	ucontext_t uc;

	fill_context(f, &uc, (void *)FIB_ALIGN_UP((uintptr_t)fp, 16), again);
	call_handler(f, sig, info, a, &uc, (uint64_t *)&uc.uc_sigmask);
}

static void __attribute__((noinline))
handle_with_vectors(struct fib *f, int sig, siginfo_t *info,
		    const struct fib_kernel_sigaction *a, bool again)
{
	char area[fib_xsave_size + 64];
	void *at = (void *)FIB_ALIGN_UP((uintptr_t)area, 64);

	fib_xsave(at);
	handle_in_hook(f, sig, info, a, again);
	fib_xrstor(at);
}

struct fib_kernel_sigaction fib_signal_take_action(int sig,
						   const siginfo_t *info)
{
	struct fib_kernel_sigaction a;

	fib_lock(&fib_sig_lock);
	a = fib_sig_act[sig];
	if (fib_sig_is_default(sig)) {
		fib_sig_default_locked(sig, info);
	} else if ((a.flags & SA_RESETHAND) && a.handler > 1) {
		/* Flags and mask stay. */
		fib_sig_act[sig].handler = (uintptr_t)SIG_DFL;
		fib_signal_note_handler(sig);
		if (!(FIB_SIG(sig) & FIB_FAULTS))
			fib_raw(SYS_rt_sigaction, sig, &fib_sig_act[sig], 0, 8);
	}
	fib_unlock(&fib_sig_lock);
	return a;
}

void fib_signal_handle(struct fib *f, int sig, siginfo_t *info,
		       const struct fib_kernel_sigaction *a, bool again)
{
	if (overflows_altstack(f, a))
		no_stack(f, sig);
	else if (f->sigframe)
		call_handler(f, sig, info, a, (ucontext_t *)&f->sigframe->uc,
			     &f->sigframe->uc.uc_sigmask);
	else if (f->door == FIB_DOOR_SITE)
		handle_with_vectors(f, sig, info, a, again);
	else
		handle_in_hook(f, sig, info, a, again);
}

bool fib_signal_attend(struct fib *f)
{
	if (handler_waits(f))
		return false;
	fib_xchg(&f->attention, 0, seq_cst);
	if (fib_unlikely(fib_work_pending(f)))
		fib_work_run(f);
	if (!handler_waits(f))
		return true;
	fib_store(&f->attention, 1, seq_cst);
	return false;
}

bool fib_signal_deliver(struct fib *f, enum fib_finding finding)
{
	bool again = finding >= FIB_FINDS_RESTART, ran = false;
	siginfo_t info;
	int sig;

	fib_xchg(&f->attention, 0, seq_cst);
	if (fib_unlikely(fib_work_pending(f)))
		fib_work_run(f);
	if (finding != FIB_FINDS_NO_CALL && fib_unlikely(fib_cancel_is_near()))
		fib_signal_deliver_cancel(f);
	while ((sig = fib_signal_take(f, deliverable(f), &info))) {
		struct fib_kernel_sigaction a =
			fib_signal_take_action(sig, &info);

		if (a.handler <= 1 || sig == FIB_KICK) {
			fib_signal_recheck(FIB_SIG(sig));
			continue;
		}
		/* The first one decides, as in handle_signal() of the kernel. */
		if (!ran && !(a.flags & SA_RESTART) &&
		    finding != FIB_FINDS_AGAIN)
			again = false;
		ran = true;
		fib_signal_handle(f, sig, &info, &a, again);
	}
	if (f->restore_mask) {
		f->restore_mask = FIB_MASK_NONE;
		fib_store(&f->sigmask, f->saved_mask, seq_cst);
		fib_signal_mask_changed(f);
	}
	return again || !ran;
}

/*
 * libc's handler decides, and may be asked more than once: a signal that came
 * on the way from the site to here has not been for nothing.
 */
void fib_signal_deliver_cancel(struct fib *f)
{
	struct fib_kernel_sigaction a;
	siginfo_t info;

	if (fib_load(&f->sigmask, relaxed) & FIB_SIG(FIB_SIGCANCEL))
		return;
	if (!fib_signal_take(f, FIB_SIG(FIB_SIGCANCEL), &info)) {
		if (!fib_load(&f->cancelled, acquire) ||
		    f->door != FIB_DOOR_SITE)
			return;
		memset(&info, 0, sizeof(info));
		info.si_signo = FIB_SIGCANCEL;
		info.si_code = SI_TKILL;
		info.si_pid = fib_sig_pid;
	}
	a = fib_signal_take_action(FIB_SIGCANCEL, &info);
	if (a.handler > 1)
		fib_signal_handle(f, FIB_SIGCANCEL, &info, &a, true);
}

void fib_signal_mask_changed(struct fib *f)
{
	uint64_t open = ~fib_load(&f->sigmask, relaxed);

	fib_fence(seq_cst);
	if (fib_load(&f->sigpend, relaxed) & open)
		fib_store(&f->attention, 1, seq_cst);
	fib_signal_recheck(open | fib_load(&f->sigwait, relaxed));
}

/*
 * What was pending before a mask opened is delivered before the call that
 * opened it returns, the receiver's view of it or not.
 */
void fib_signal_opened(struct fib *f, uint64_t opened)
{
	uint64_t pending = 0;

	if (!fib_filtered())
		fib_raw(SYS_rt_sigpending, &pending, 8);
	if (fib_unlikely(pending & opened & fib_signal_worker_mask()))
		fib_signal_fetch(pending & opened & fib_signal_worker_mask());
	fib_signal_mask_changed(f);
}

static void open_mask(struct fib *f, uint64_t set, uint8_t how)
{
	f->saved_mask = fib_load(&f->sigmask, relaxed);
	f->restore_mask = how;
	fib_store(&f->sigmask, set & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_opened(f, f->saved_mask & ~set);
}

void fib_signal_mask_for_call(uint64_t set)
{
	open_mask(fib_self(), set, FIB_MASK_AFTER);
}

void fib_signal_mask_later(uint64_t set)
{
	struct fib *f = fib_self();

	f->saved_mask = set;
	f->restore_mask = FIB_MASK_LATER;
}

long fib_signal_mask_open(void)
{
	struct fib *f = fib_self();

	if (f->restore_mask == FIB_MASK_LATER)
		open_mask(f, f->saved_mask, FIB_MASK_READY);
	return f->restore_mask && handler_waits(f) ? -FIB_ERESTARTNOHAND : 0;
}

void fib_signal_mask_back(struct fib *f)
{
	uint8_t was = f->restore_mask;

	f->restore_mask = FIB_MASK_NONE;
	if (was == FIB_MASK_LATER)
		return;
	fib_store(&f->sigmask, f->saved_mask, seq_cst);
	fib_signal_give_back(f);
	fib_signal_mask_changed(f);
}

void fib_signal_raised(struct fib *f, int sig, bool by_kernel)
{
	uint64_t set = FIB_SIG(sig);
	struct timespec now = { 0, 0 };
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (by_kernel &&
	    fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
		return;
	info.si_code = SI_USER;
	info.si_pid = fib_sig_pid;
	fib_signal_send(f, sig, &info, false);
}

int fib_signal_set_action(int sig, const struct fib_kernel_sigaction *new,
			  struct fib_kernel_sigaction *old)
{
	long r = 0;

	fib_lock(&fib_sig_lock);
	*old = fib_sig_act[sig];
	if (!(FIB_SIG(sig) & FIB_FAULTS) && sig != FIB_SIGCANCEL &&
	    sig != FIB_KICK)
		r = fib_raw(SYS_rt_sigaction, sig, new, old, 8);
	if (r == 0 && new) {
		fib_sig_act[sig] = *new;
		fib_signal_note_handler(sig);
		if (fib_sig_is_ignored(sig))
			fib_sig_flush_locked(FIB_SIG(sig));
	}
	fib_unlock(&fib_sig_lock);
	return (int)r;
}
