/*
 * Signals: who gets them, and where handlers run.
 *
 * The kernel knows workers, the program knows fibers. So:
 *
 * - Masks are the fibers' (sigmask); no system call changes one. Workers have
 *   every asynchronous signal blocked for good. Only the six that faults raise
 *   and KICK are open.
 * - Dispositions are the program's, in the table act[] and, but for the faults
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
 * One lock guards act[] and all queues; it is never held while a handler runs.
 * It ranks above the scheduler's.
 */
#include <sys/mman.h>
#include "hooks/hooks.h"
#include "hooks/signal.h"
#include "hooks/sigframe.h"
#include "preload/arch/x86_64/regs.h"
#include "runtime/chaos.h"
#include "runtime/arch/x86_64/ctx.h"
#include "runtime/arch/x86_64/pkru.h"
#include "runtime/arch/x86_64/offsets.h"

_Static_assert(offsetof(struct fib, attention) == FIB_OFFSET_ATTENTION, "");
_Static_assert(offsetof(struct fib, in_hook) == FIB_OFFSET_IN_HOOK, "");

#define FAULTS                                                                 \
	(FIB_SIG(SIGSEGV) | FIB_SIG(SIGBUS) | FIB_SIG(SIGFPE) |                \
	 FIB_SIG(SIGILL) | FIB_SIG(SIGTRAP) | FIB_SIG(SIGSYS))
#define RED_ZONE      128

struct fib_siginfo_node {
	struct fib_siginfo_node *next;
	siginfo_t info;
	bool process; /* any fiber would do */
};

static struct fib_lock sig_lock;
static struct fib_kernel_sigaction act[65];
static struct fib_siginfo_node *free_nodes;
static int pid_cache;
/*
 * Signals for the process that were taken from the kernel for a fiber which
 * blocked them before it got them. (They cannot be sent again: the kernel lets
 * only a process's first thread pretend to be somebody else.)
 */
static struct fib_siginfo_node *kept;
static _Atomic uint64_t kept_set;

struct fib_kernel_sigaction fib_signal_action(int sig)
{
	return act[sig];
}

uint64_t fib_signal_worker_mask(void)
{
	return ~(FAULTS | FIB_SIG(FIB_KICK) | FIB_UNBLOCKABLE);
}

static void set_kernel_mask(uint64_t mask)
{
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

static bool ignored_by_default(int sig)
{
	return sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH ||
	       sig == SIGCONT;
}

static bool is_ignored_locked(int sig)
{
	return act[sig].handler == (uintptr_t)SIG_IGN ||
	       (act[sig].handler == (uintptr_t)SIG_DFL &&
		ignored_by_default(sig));
}

/* --- queues -------------------------------------------------------------- */

static struct fib_siginfo_node *node_get_locked(void)
{
	struct fib_siginfo_node *n = free_nodes;

	if (!n) {
		unsigned per = 4 * FIB_PAGE / sizeof(*n);

		n = fib_pages_alloc(4 * FIB_PAGE);
		if (!n)
			return NULL;
		for (unsigned i = 1; i < per; i++)
			n[i].next = i + 1 < per ? &n[i + 1] : NULL;
		free_nodes = &n[1];
		return n;
	}
	free_nodes = n->next;
	return n;
}

static void node_put_locked(struct fib_siginfo_node *n)
{
	n->next = free_nodes;
	free_nodes = n;
}

/*
 * Not while it is in exec: a kick that was still pending when that is done would
 * find the default action, and end the new program.
 */
void fib_signal_kick(struct fib_worker *w)
{
	int tid;

	fib_lock(&w->kick_lock);
	tid = fib_load(&w->tid, relaxed);
	if (tid && !w->no_kick)
		fib_raw(SYS_tgkill, pid_cache, tid, FIB_KICK);
	fib_unlock(&w->kick_lock);
}

static void kick(struct fib *f)
{
	struct fib_worker *w = fib_load(&f->on, seq_cst);

	if (w && w != fib_worker_self())
		fib_signal_kick(w);
}

void fib_signal_idle_kick(void)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct fib_worker *w = fib_sched.worker[fib_chaos_number(n)];

	if (FIB_CHAOS_ODDS(preempt, 2))
		fib_signal_preempt(w);
	else if (!fib_load(&w->gone, relaxed))
		fib_signal_kick(w);
}

/* Repeated after an interruption, these would wait for all of their time again. */
static bool has_relative_timeout(unsigned nr)
{
	return nr == SYS_semtimedop || nr == SYS_io_getevents ||
	       nr == SYS_io_pgetevents;
}

/*
 * As for a signal: code of the program is diverted, a call that blocks in the
 * kernel ends with EINTR and is repeated, since no handler runs. In between the
 * fiber yields. Without attention: a wait of ours goes on. Too late, this costs
 * the fiber a yield at another time.
 */
void fib_signal_preempt(struct fib_worker *w)
{
	struct fib *f = __atomic_load_n(&w->cur, __ATOMIC_RELAXED);

	if (!f || fib_load(&w->gone, relaxed) ||
	    (fib_load(&f->in_hook, relaxed) && has_relative_timeout(f->call)))
		return;
	fib_store(&f->preempt, true, seq_cst);
	fib_signal_kick(w);
}

void fib_signal_attention(struct fib *f)
{
	fib_store(&f->attention, 1, seq_cst); /* (A) */
	FIB_CHAOS_POINT(attention);
	fib_wake(f);
	kick(f);
}

void fib_signal_cancelled(struct fib *f)
{
	fib_store(&f->cancelled, 1, seq_cst);
	fib_signal_attention(f);
}

bool fib_signal_accepts(struct fib *f, int sig)
{
	uint64_t blocked = fib_load(&f->sigmask, seq_cst) &
			   ~fib_load(&f->sigwait, seq_cst);

	return !(blocked & FIB_SIG(sig));
}

int fib_signal_send(struct fib *f, int sig, const siginfo_t *info, bool process)
{
	struct fib_siginfo_node *n, **at;

	fib_lock(&sig_lock);
	if (!fib_load(&f->tid, relaxed)) {
		fib_unlock(&sig_lock);
		return -ESRCH;
	}
	if ((fib_signal_accepts(f, sig) && is_ignored_locked(sig) &&
	     !(fib_load(&f->sigwait, relaxed) & FIB_SIG(sig))) ||
	    (sig < FIB_SIGRTMIN &&
	     (fib_load(&f->sigpend, relaxed) & FIB_SIG(sig)))) {
		fib_unlock(&sig_lock);
		return 0;
	}
	n = node_get_locked();
	/* As the kernel: a signal that does not queue needs no memory. */
	if (!n && sig >= FIB_SIGRTMIN) {
		fib_unlock(&sig_lock);
		return -EAGAIN;
	}
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->process = process;
		n->next = NULL;
		for (at = &f->sigqueue; *at; at = &(*at)->next)
			;
		*at = n;
	}
	fib_or(&f->sigpend, FIB_SIG(sig), seq_cst);
	fib_unlock(&sig_lock);
	if (fib_signal_accepts(f, sig))
		fib_signal_attention(f);
	return 0;
}

/* The lowest pending signal of @set goes off the queue. 0: there is none. */
static int dequeue(struct fib *f, uint64_t set, siginfo_t *info)
{
	struct fib_siginfo_node **at, *n = NULL;
	uint64_t ready;
	bool more = false;
	int sig = 0;

	fib_lock(&sig_lock);
	ready = fib_load(&f->sigpend, relaxed) & set;
	if (ready) {
		sig = __builtin_ctzll(ready) + 1;
		for (at = &f->sigqueue; *at;) {
			if ((*at)->info.si_signo != sig) {
				at = &(*at)->next;
			} else if (!n) {
				n = *at;
				*at = n->next;
			} else {
				more = true;
				break;
			}
		}
		if (!more)
			fib_and(&f->sigpend, ~FIB_SIG(sig), relaxed);
		if (n) {
			*info = n->info;
			node_put_locked(n);
		} else {
			memset(info, 0, sizeof(*info));
			info->si_signo = sig;
		}
	}
	fib_unlock(&sig_lock);
	return sig;
}

void fib_signal_keep(int sig, const siginfo_t *info)
{
	struct fib_siginfo_node *n, **at;

	fib_lock(&sig_lock);
	n = node_get_locked();
	if (n) {
		n->info = *info;
		n->info.si_signo = sig;
		n->process = true;
		n->next = NULL;
		for (at = &kept; *at; at = &(*at)->next)
			;
		*at = n;
		fib_or(&kept_set, FIB_SIG(sig), seq_cst);
	}
	fib_unlock(&sig_lock);
}

uint64_t fib_signal_kept_set(void)
{
	return fib_load(&kept_set, seq_cst);
}

int fib_signal_kept(uint64_t set, siginfo_t *info)
{
	struct fib_siginfo_node **at, *n;
	uint64_t now = 0;
	int sig = 0;

	if (!(fib_load(&kept_set, seq_cst) & set))
		return 0;
	fib_lock(&sig_lock);
	for (at = &kept; (n = *at);) {
		if (!sig && (FIB_SIG(n->info.si_signo) & set)) {
			sig = n->info.si_signo;
			*info = n->info;
			*at = n->next;
			node_put_locked(n);
			continue;
		}
		now |= FIB_SIG(n->info.si_signo);
		at = &n->next;
	}
	fib_store(&kept_set, now, relaxed);
	fib_unlock(&sig_lock);
	return sig;
}

int fib_signal_take(struct fib *f, uint64_t set, siginfo_t *info)
{
	return dequeue(f, set, info);
}

void fib_signal_exit(struct fib *f)
{
	struct fib_siginfo_node *n;

	for (;;) {
		siginfo_t info;
		bool process;

		fib_lock(&sig_lock);
		fib_store(&f->sigmask, ~0ull, relaxed);
		n = f->sigqueue;
		if (!n) {
			fib_store(&f->sigpend, 0, relaxed);
			fib_store(&f->tid, 0, seq_cst);
			fib_unlock(&sig_lock);
			fib_work_exit(f);
			return;
		}
		f->sigqueue = n->next;
		info = n->info;
		process = n->process;
		node_put_locked(n);
		fib_unlock(&sig_lock);
		if (process)
			fib_signal_route(info.si_signo, &info);
	}
}

/* --- delivery ------------------------------------------------------------ */

void fib_signal_kernel_action(int sig, uintptr_t handler)
{
	struct fib_kernel_sigaction a = { .handler = handler };

	fib_raw(SYS_rt_sigaction, sig, &a, 0, 8);
}

void fib_signal_default(int sig)
{
	uint64_t open = ~FIB_SIG(sig), old;
	long tid = fib_raw(SYS_gettid);

	if (sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU)
		fib_stats_end();
	if (FIB_SIG(sig) & FAULTS)
		fib_signal_kernel_action(sig, (uintptr_t)SIG_DFL);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, 0, &old, 8);
	fib_raw(SYS_tgkill, pid_cache, tid, sig);
	set_kernel_mask(open & old);
	/* Stopped, and continued; or the action has just been changed. */
	set_kernel_mask(old);
}

bool fib_signal_on_altstack(const struct fib *f, unsigned long flags,
			    uintptr_t sp)
{
	return (flags & SA_ONSTACK) && f->altstack_size &&
	       !(f->altstack_flags & SS_DISABLE) && sp - f->altstack_sp >= f->altstack_size;
}

/* What a handler sees of a fiber that it finds in a system call. */
static void fill_context(struct fib *f, ucontext_t *uc, void *fpregs)
{
	greg_t *g = uc->uc_mcontext.gregs;
	const struct fib_regs *r = f->regs;

	memset(uc, 0, sizeof(*uc));
	uc->uc_stack.ss_sp = (void *)f->altstack_sp;
	uc->uc_stack.ss_size = f->altstack_size;
	uc->uc_stack.ss_flags = f->altstack_size ? 0 : SS_DISABLE;
	__asm__ volatile("fxsave64 (%0)" : : "r"(fpregs) : "memory");
	uc->uc_mcontext.fpregs = fpregs;
	g[REG_RSP] = (greg_t)(uintptr_t)__builtin_frame_address(0);
	g[REG_RIP] = (greg_t)(uintptr_t)__builtin_return_address(0);
	if (!r)
		return;
	g[REG_RIP] = (greg_t)r->rip;
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

/* The handler itself, with @uc for its third argument. */
static void call_handler(struct fib *f, int sig, siginfo_t *info,
			 const struct fib_kernel_sigaction *a, void *uc,
			 uint64_t *uc_mask)
{
	void (*handler)(int, siginfo_t *, void *) = (void *)a->handler;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uint64_t mask = fib_load(&f->sigmask, relaxed);
	struct fib_regs *regs = f->regs;
	struct fib_sigframe *frame = f->sigframe;
	uint64_t deadline = f->restart_deadline;
	uint32_t pkru = FIB_PKRU_INIT;
	uint8_t door = f->door;
	uint16_t call = f->call;

	*uc_mask = f->restore_mask ? f->saved_mask : mask;
	f->restore_mask = false;
	mask |= a->mask & ~FIB_UNBLOCKABLE;
	if (!(a->flags & SA_NODEFER))
		mask |= FIB_SIG(sig);
	fib_store(&f->sigmask, mask, seq_cst);
	f->sigframe = NULL;
	fib_count(signals);
	if (fib_pkru_is_used()) {
		pkru = fib_rdpkru();
		fib_wrpkru(FIB_PKRU_INIT);
	}
	fib_barrier();
	fib_store(&f->in_hook, 0, relaxed);
	fib_barrier();
	if (fib_signal_on_altstack(f, a->flags, sp))
		fib_call_on_stack(handler, sig, info, uc,
				  f->altstack_sp + f->altstack_size);
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
	fib_store(&f->sigmask, *uc_mask & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_mask_changed(f);
}

static void handle_in_hook(struct fib *f, int sig, siginfo_t *info,
			   const struct fib_kernel_sigaction *a)
{
	char fp[512 + 16];
	ucontext_t uc;

	fill_context(f, &uc, (void *)FIB_ALIGN_UP((uintptr_t)fp, 16));
	call_handler(f, sig, info, a, &uc, (uint64_t *)&uc.uc_sigmask);
}

static void __attribute__((noinline))
handle_with_vectors(struct fib *f, int sig, siginfo_t *info,
		    const struct fib_kernel_sigaction *a)
{
	char area[fib_xsave_size + 64];
	void *at = (void *)FIB_ALIGN_UP((uintptr_t)area, 64);

	fib_xsave(at);
	handle_in_hook(f, sig, info, a);
	fib_xrstor(at);
}

struct fib_kernel_sigaction fib_signal_take_action(int sig)
{
	struct fib_kernel_sigaction a;

	fib_lock(&sig_lock);
	a = act[sig];
	if ((a.flags & SA_RESETHAND) && a.handler > 1) {
		act[sig].handler = (uintptr_t)SIG_DFL;
		if (!(FIB_SIG(sig) & FAULTS))
			fib_signal_kernel_action(sig, (uintptr_t)SIG_DFL);
	}
	fib_unlock(&sig_lock);
	return a;
}

void fib_signal_handle(struct fib *f, int sig, siginfo_t *info,
		       const struct fib_kernel_sigaction *a)
{
	if (f->sigframe)
		call_handler(f, sig, info, a, &f->sigframe->uc,
			     &f->sigframe->uc.uc_sigmask);
	else if (f->door == FIB_DOOR_SITE)
		handle_with_vectors(f, sig, info, a);
	else
		handle_in_hook(f, sig, info, a);
}

void fib_signal_deliver(struct fib *f, bool *restart)
{
	bool ran = false, again = true;
	siginfo_t info;
	int sig;

	fib_xchg(&f->attention, 0, seq_cst);
	if (fib_unlikely(fib_work_pending(f)))
		fib_work_run(f);
	while ((sig = dequeue(f, ~fib_load(&f->sigmask, relaxed), &info))) {
		struct fib_kernel_sigaction a = fib_signal_take_action(sig);

		if (a.handler == (uintptr_t)SIG_IGN || sig == FIB_KICK)
			continue;
		if (a.handler == (uintptr_t)SIG_DFL) {
			if (sig != FIB_SIGCANCEL && !ignored_by_default(sig))
				fib_signal_default(sig);
			continue;
		}
		ran = true;
		again = again && (a.flags & SA_RESTART);
		fib_signal_handle(f, sig, &info, &a);
	}
	if (f->restore_mask) {
		f->restore_mask = false;
		fib_store(&f->sigmask, f->saved_mask, seq_cst);
		fib_signal_mask_changed(f);
	}
	*restart = ran ? *restart && again : true;
}

void fib_signal_deliver_cancel(struct fib *f)
{
	siginfo_t info;

	if (dequeue(f, FIB_SIG(FIB_SIGCANCEL) & ~fib_load(&f->sigmask, relaxed),
		    &info)) {
		struct fib_kernel_sigaction a = fib_signal_take_action(FIB_SIGCANCEL);

		if (a.handler > 1)
			fib_signal_handle(f, FIB_SIGCANCEL, &info, &a);
	}
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

	fib_raw(SYS_rt_sigpending, &pending, 8);
	if (fib_unlikely(pending & opened & fib_signal_worker_mask()))
		fib_signal_fetch(pending & opened & fib_signal_worker_mask());
	fib_signal_mask_changed(f);
}

void fib_signal_mask_for_call(uint64_t set)
{
	struct fib *f = fib_self();

	f->saved_mask = fib_load(&f->sigmask, relaxed);
	f->restore_mask = true;
	fib_store(&f->sigmask, set & ~FIB_UNBLOCKABLE, seq_cst);
	fib_signal_opened(f, f->saved_mask & ~set);
}

void fib_signal_pipe(struct fib *f, bool from_kernel)
{
	uint64_t set = FIB_SIG(SIGPIPE);
	struct timespec now = { 0, 0 };
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	if (from_kernel) {
		if (fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) !=
		    SIGPIPE)
			return;
	}
	info.si_code = SI_USER;
	info.si_pid = pid_cache;
	fib_signal_send(f, SIGPIPE, &info, false);
}

int fib_signal_set_action(int sig, const struct fib_kernel_sigaction *new,
			  struct fib_kernel_sigaction *old)
{
	long r = 0;

	fib_lock(&sig_lock);
	*old = act[sig];
	if (!(FIB_SIG(sig) & FAULTS) && sig != FIB_SIGCANCEL && sig != FIB_KICK)
		r = fib_raw(SYS_rt_sigaction, sig, new, old, 8);
	if (r == 0 && new)
		act[sig] = *new;
	fib_unlock(&sig_lock);
	return (int)r;
}

/* --- set-up -------------------------------------------------------------- */

extern const char fib_sigreturn[];

/*
 * A fault may come while one is dealt with (divert probes memory), a kick may
 * not: it would take the handler's own code for the fiber's.
 */
static void install_entry(int sig)
{
	struct fib_kernel_sigaction a = {
		.handler = (uintptr_t)fib_signal_entry,
		.flags = SA_SIGINFO | SA_ONSTACK | FIB_SA_RESTORER |
			 (sig == FIB_KICK ? 0 : SA_NODEFER),
		.restorer = (uintptr_t)fib_sigreturn,
		.mask = FIB_SIG(FIB_KICK),
	};

	fib_raw(SYS_rt_sigaction, sig, &a, 0, 8);
}

static void install_entries(void)
{
	for (int sig = 1; sig < FIB_SIGRTMIN; sig++)
		if (FIB_SIG(sig) & FAULTS)
			install_entry(sig);
	install_entry(FIB_KICK);
}

void fib_signal_init(struct fib *main_fiber, uint64_t mask)
{
	stack_t ss = { 0 };

	fib_store(&sig_lock.word, 0, relaxed);
	kept = NULL;
	fib_store(&kept_set, 0, relaxed);
	fib_identity_init();
	fib_work_init();
	pid_cache = (int)fib_raw(SYS_getpid);
	for (int sig = 1; sig <= 64; sig++)
		fib_raw(SYS_rt_sigaction, sig, 0, &act[sig], 8);
	fib_store(&main_fiber->sigmask, mask, relaxed);
	fib_raw(SYS_sigaltstack, 0, &ss);
	main_fiber->altstack_flags = SS_DISABLE;
	if (!(ss.ss_flags & SS_DISABLE)) {
		main_fiber->altstack_sp = (uintptr_t)ss.ss_sp;
		main_fiber->altstack_size = ss.ss_size;
		main_fiber->altstack_flags = 0;
	}
	install_entries();
}

void fib_signal_thread_init(struct fib_worker *w)
{
	stack_t ss = { .ss_size = FIB_ALTSTACK_SIZE };

	if (w)
		fib_identity_join(w);
	set_kernel_mask(w ? fib_signal_worker_mask() :
			    ~(FIB_UNBLOCKABLE | FIB_SIG(FIB_KICK)));
	if (!w)
		return;
	ss.ss_sp = w->altstack;
	fib_raw(SYS_sigaltstack, &ss, 0);
}

static void restore_kernel_actions(void)
{
	for (int sig = 1; sig <= FIB_KICK; sig++)
		if ((FIB_SIG(sig) & FAULTS) || sig >= FIB_SIGCANCEL)
			fib_raw(SYS_rt_sigaction, sig, &act[sig], 0, 8);
}

void fib_signal_fork_child(struct fib *f)
{
	stack_t ss = { .ss_sp = (void *)f->altstack_sp,
		       .ss_size = f->altstack_size,
		       .ss_flags = f->altstack_size ? 0 : SS_DISABLE };

	restore_kernel_actions();
	fib_raw(SYS_sigaltstack, &ss, 0);
	set_kernel_mask(fib_load(&f->sigmask, relaxed));
}

/*
 * What the new program starts with: the mask, what is ignored, what is pending
 * for the thread. Handlers end with exec, so those of ours may stay: other
 * workers need them until then.
 */
static void ignore_faults(bool as_program)
{
	for (int sig = 1; sig < FIB_SIGRTMIN; sig++) {
		if (!(FIB_SIG(sig) & FAULTS) ||
		    act[sig].handler != (uintptr_t)SIG_IGN)
			continue;
		if (as_program)
			fib_signal_kernel_action(sig, (uintptr_t)SIG_IGN);
		else
			install_entry(sig);
	}
}

/* What came before is taken at the end of the next call; after, one for all. */
static void kicks(bool wanted)
{
	struct fib_worker *w = fib_worker_self();

	fib_lock(&w->kick_lock);
	w->no_kick = !wanted;
	fib_unlock(&w->kick_lock);
	if (wanted)
		fib_signal_kick(w);
	fib_raw(SYS_gettid);
}

bool fib_signal_exec_begin(struct fib *f)
{
	uint64_t mask = fib_load(&f->sigmask, relaxed);
	long pid = fib_raw(SYS_getpid), tid = fib_raw(SYS_gettid);

	fib_lock(&sig_lock);
	if (fib_load(&f->sigpend, relaxed) & ~mask) {
		fib_unlock(&sig_lock);
		return false;
	}
	for (struct fib_siginfo_node *n = f->sigqueue; n; n = n->next)
		fib_raw(SYS_rt_tgsigqueueinfo, pid, tid, n->info.si_signo,
			&n->info);
	fib_unlock(&sig_lock);
	kicks(false);
	ignore_faults(true);
	set_kernel_mask(mask);
	return true;
}

/* The queue still has what was sent to the kernel thread. */
void fib_signal_exec_failed(struct fib *f)
{
	struct timespec now = { 0, 0 };

	set_kernel_mask(fib_signal_worker_mask());
	ignore_faults(false);
	fib_lock(&sig_lock);
	for (struct fib_siginfo_node *n = f->sigqueue; n; n = n->next) {
		uint64_t set = FIB_SIG(n->info.si_signo);

		fib_raw(SYS_rt_sigtimedwait, &set, 0, &now, 8);
	}
	fib_unlock(&sig_lock);
	kicks(true);
}
