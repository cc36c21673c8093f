/*
 * What the kernel is told of signals: handlers, masks and alternate stacks of
 * our threads, and what a fork child and a new program start with.
 */
#include <fcntl.h>
#include "hooks/signal/state.h"
#include "frame_arch.h"
#include "runtime/chaos.h"
#include "runtime/digits.h"

/*
 * A fault may come while one is dealt with (divert probes memory), a kick may
 * not: it would take the handler's own code for the fiber's.
 */
static void install_entry(int sig)
{
	struct fib_kernel_sigaction a = {
		.handler = (uintptr_t)fib_sig_entry,
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
		if (FIB_SIG(sig) & FIB_FAULTS)
			install_entry(sig);
	install_entry(FIB_KICK);
}

/* SigPnd or ShdPnd of the calling kernel thread: proc(5). */
static uint64_t queue_in_kernel(const char key[10])
{
	enum { KEY = 9 };
	char text[4096];
	long fd = fib_raw(SYS_openat, AT_FDCWD, "/proc/thread-self/status",
			  O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : fib_raw(SYS_read, fd, text, sizeof(text) - 1);

	if (fd >= 0)
		fib_raw(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	for (const char *p = text; p + KEY <= text + n; p++) {
		if (memcmp(p, key, KEY) != 0)
			continue;
		p += KEY;
		return fib_get_hex(&p);
	}
	return 0;
}

uint64_t fib_signal_kernel_pending(void)
{
	return queue_in_kernel("\nShdPnd:\t");
}

/*
 * Main leaves its kernel thread sooner or later, and takes along what is for that one;
 * and no worker blocks the signals of faults.
 */
static void adopt_pending(struct fib *f)
{
	struct timespec now = { 0, 0 };
	uint64_t any = 0, own, set;
	siginfo_t info;

	fib_raw(SYS_rt_sigpending, &any, 8);
	while (any) {
		own = queue_in_kernel("\nSigPnd:\t") &
		      (fib_signal_worker_mask() | FIB_FAULTS);
		set = own ? own : queue_in_kernel("\nShdPnd:\t") & FIB_FAULTS;
		set &= -set;
		if (!set ||
		    fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) <= 0)
			return;
		if (!own) {
			fib_sig_queue_process(info.si_signo, &info, 0);
			fib_signal_unwatch(info.si_signo);
		} else if (!fib_sig_may_show(info.si_signo) ||
			   fib_signal_to_kernel(info.si_signo, &info))
			fib_signal_send(f, info.si_signo, &info, false);
	}
}

void fib_signal_init(struct fib *main_fiber, uint64_t mask,
		     const struct fib_signal_host *host)
{
	stack_t ss = { 0 };

	fib_sig_host = host;
	fib_sig_queues_init();
	fib_signal_pid = (int)fib_raw(SYS_getpid);
	for (int sig = 1; sig <= 64; sig++) {
		fib_raw(SYS_rt_sigaction, sig, 0, &fib_sig_act[sig], 8);
		fib_sig_update_handled(sig);
	}
	fib_store(&main_fiber->sig.mask, mask, relaxed);
	fib_raw(SYS_sigaltstack, 0, &ss);
	main_fiber->sig.altstack_flags = SS_DISABLE;
	if (!(ss.ss_flags & SS_DISABLE)) {
		main_fiber->sig.altstack_sp = (uintptr_t)ss.ss_sp;
		main_fiber->sig.altstack_size = ss.ss_size;
		main_fiber->sig.altstack_flags = ss.ss_flags & ~SS_ONSTACK;
	}
	install_entries();
	adopt_pending(main_fiber);
}

/*
 * The stack first: as the mask opens, a kick that waits is taken, and its frame
 * may not lie where the handler lays a copy of it, on the stack of the fiber.
 */
void fib_signal_thread_init(struct fib_worker *w)
{
	stack_t ss = { .ss_size = FIB_ALTSTACK_SIZE };

	if (!w) {
		fib_sig_kernel_mask(~(FIB_UNBLOCKABLE | FIB_SIG(FIB_KICK)));
		return;
	}
	ss.ss_sp = w->altstack;
	/* Under a filter that may kill: entry.c, lend_altstack() */
	if (!w->process.filtered)
		fib_raw(SYS_sigaltstack, &ss, 0);
	FIB_CHAOS_POINT(thread_init);
	fib_sig_kernel_mask(fib_signal_worker_mask());
}

/* Ours, or one that the kernel was not told of: fib_signal_set_action() */
static bool differs_in_kernel(int sig)
{
	return (FIB_SIG(sig) & FIB_FAULTS) || sig == FIB_KICK ||
	       (sig == FIB_SIGCANCEL && fib_sig_cancel_set);
}

static void restore_kernel_actions(void)
{
	for (int sig = 1; sig <= FIB_KICK; sig++)
		if (differs_in_kernel(sig))
			fib_raw(SYS_rt_sigaction, sig, &fib_sig_act[sig], 0, 8);
}

/* Is that what flush_signal_handlers() of kernel/signal.c leaves of it? */
static bool is_cleared(int sig, const struct fib_kernel_sigaction *a)
{
	bool kept = a->handler == (uintptr_t)SIG_IGN && !differs_in_kernel(sig);

	return (!a->handler || kept) && !a->flags && !a->restorer && !a->mask;
}

bool fib_signal_few_acts(struct fib_acts *few)
{
	few->n = 0;
	fib_lock(&fib_sig_lock);
	few->changes = fib_load(&fib_sig_changes, relaxed);
	for (int sig = 1; sig <= 64 && few->n <= FIB_ACTS_FEW; sig++) {
		if (is_cleared(sig, &fib_sig_act[sig]))
			continue;
		if (few->n < FIB_ACTS_FEW) {
			few->sig[few->n] = sig;
			few->act[few->n] = fib_sig_act[sig];
		}
		few->n++;
	}
	fib_unlock(&fib_sig_lock);
	return few->n <= FIB_ACTS_FEW;
}

bool fib_signal_acts_stand(const struct fib_acts *few)
{
	return fib_load(&fib_sig_changes, seq_cst) == few->changes;
}

/* What the program ignores is left, but where ours was in its place. */
static void ignore_cleared(void)
{
	for (int sig = 1; sig <= FIB_KICK; sig++)
		if (differs_in_kernel(sig) &&
		    fib_sig_act[sig].handler == (uintptr_t)SIG_IGN)
			fib_sig_kernel_action(sig, (uintptr_t)SIG_IGN);
}

static void restore_actions(bool cleared, const struct fib_acts *few)
{
	if (!few && cleared)
		ignore_cleared();
	else if (!few)
		restore_kernel_actions();
	for (unsigned i = 0; few && i < few->n; i++)
		fib_raw(SYS_rt_sigaction, few->sig[i], &few->act[i], 0, 8);
}

void fib_signal_vfork_child(const struct fib *f, bool cleared,
			    const struct fib_acts *few)
{
	stack_t ss;

	restore_actions(cleared, few);
	if (!f)
		return;
	ss = fib_altstack_get(f);
	fib_raw(SYS_sigaltstack, &ss, 0);
}

void fib_signal_fork_child(struct fib *f, bool cleared,
			   const struct fib_acts *few)
{
	restore_actions(cleared, few);
	fib_sig_cancel_set = false;
	fib_sig_children_forget();
	fib_sig_to_kernel(f);
}

/*
 * What the new program starts with: the mask, what is ignored, what is pending
 * for the thread. Handlers end with exec, so those of ours may stay: other
 * workers need them until then.
 */
static void ignore_faults(bool as_program)
{
	for (int sig = 1; sig < FIB_SIGRTMIN; sig++) {
		if (!(FIB_SIG(sig) & FIB_FAULTS) ||
		    fib_sig_act[sig].handler != (uintptr_t)SIG_IGN)
			continue;
		if (as_program)
			fib_sig_kernel_action(sig, (uintptr_t)SIG_IGN);
		else
			install_entry(sig);
	}
}

/* What came before is taken at the end of the next call; after, one for all. */
static void kicks(bool wanted)
{
	struct fib_worker *w = fib_worker_self();

	fib_lock(&w->sig.kick_lock);
	w->sig.no_kick = !wanted;
	fib_unlock(&w->sig.kick_lock);
	if (wanted)
		fib_signal_kick(w);
	fib_raw(SYS_gettid);
}

void fib_signal_no_kicks(void)
{
	kicks(false);
}

static void queue_for_kernel(const struct fib_siginfo_node *n)
{
	long pid = fib_raw(SYS_getpid), tid = fib_raw(SYS_gettid);

	for (; n; n = n->more)
		for (const struct fib_siginfo_node *k = n; k; k = k->next)
			if (!k->stale)
				fib_raw(SYS_rt_tgsigqueueinfo, pid, tid,
					k->info.si_signo, &k->info);
}

static void take_from_kernel(const struct fib_siginfo_node *n)
{
	struct timespec now = { 0, 0 };

	for (; n; n = n->more)
		for (const struct fib_siginfo_node *k = n; k; k = k->next) {
			uint64_t set = FIB_SIG(k->info.si_signo);

			if (!k->stale)
				fib_raw(SYS_rt_sigtimedwait, &set, 0, &now, 8);
		}
}

/* What pends here for the process would be lost too: no worker blocks a fault's. */
bool fib_signal_exec_begin(struct fib *f)
{
	uint64_t mask = fib_load(&f->sig.mask, relaxed);

	fib_lock(&fib_sig_lock);
	if (fib_load(&f->sig.pending, relaxed) & ~mask) {
		fib_unlock(&fib_sig_lock);
		return false;
	}
	fib_sig_kernel_mask(fib_signal_worker_mask() | mask);
	queue_for_kernel(f->sig.queue);
	queue_for_kernel(fib_sig_process_queue_locked());
	fib_unlock(&fib_sig_lock);
	kicks(false);
	ignore_faults(true);
	fib_sig_kernel_mask(mask);
	return true;
}

/* The queue still has what was sent to the kernel thread. */
void fib_signal_exec_failed(struct fib *f)
{
	ignore_faults(false);
	fib_lock(&fib_sig_lock);
	take_from_kernel(f->sig.queue);
	take_from_kernel(fib_sig_process_queue_locked());
	fib_unlock(&fib_sig_lock);
	fib_sig_kernel_mask(fib_signal_worker_mask());
	kicks(true);
}
