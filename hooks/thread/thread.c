/* What makes a kernel thread a thread: its birth, its end, and its own state. */
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/futex/futex.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "runtime/chaos.h"
#include "runtime/futex.h"
#include "runtime/stack.h"
#include "regs_arch.h"
#include "ctx_arch.h"
#include "pkru_arch.h"

static struct fib *renewer(void)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (fib_load(&f->tid, acquire) && f->thread.apart &&
		    !f->thread.confined)
			return f;
	}
	return NULL;
}

/*
 * @gone has ended: another one may have to be the model of our own threads
 * (hooks/core/threads.c), and one that ends hands it on.
 */
static void ask_renewer(struct fib *gone)
{
	struct fib *f;

	if (fib_load(&fib_sched.model, seq_cst) == gone)
		fib_store(&fib_sched.model, NULL, seq_cst);
	while (!fib_load(&fib_sched.model, seq_cst) && fib_threads_renew() &&
	       (f = renewer())) {
		fib_store(&f->thread.renews, true, seq_cst);
		if (!fib_load(&f->tid, seq_cst) &&
		    fib_xchg(&f->thread.renews, false, seq_cst))
			continue;
		fib_attention_set(f);
		break;
	}
}

/* --- birth --------------------------------------------------------------- */

/* What a thread may share with its creator, and what it may have anew. */
#define SHARES (CLONE_FS | CLONE_FILES | CLONE_SYSVSEM)
#define ANEW                                                                   \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET |            \
	 CLONE_NEWCGROUP)
/* What makes no difference to a fiber, or is seen to. */
#define MAY                                                                    \
	(CSIGNAL | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |    \
	 CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |     \
	 CLONE_DETACHED | CLONE_PTRACE | CLONE_UNTRACED | CLONE_IO)

/* The creator waits until the new thread has parted from it. */
struct fib_parting {
	struct fib *creator;
	unsigned long flags;
	long result;
	_Atomic uint32_t done;
};

static void part(struct fib *f, struct fib_parting *p)
{
	struct fib *creator = p->creator;
	long r = fib_raw(SYS_unshare, p->flags);

	if (r == 0 && (p->flags & CLONE_FILES))
		fib_fd_unshared();
	if (r)
		f->thread.clear_tid = NULL;
	p->result = r;
	/* *p is gone from here on; fibers' memory stays. */
	fib_store(&p->done, 1, release);
	fib_wake(creator);
	if (r)
		fib_exit();
}

/* First code of a fiber, on its own stack: into the program. */
static void thread_begin(void *arg)
{
	struct fib *f = fib_self();

	f->thread.began_on = fib_worker_self();
	f->thread.began_at = fib_load(&f->thread.began_on->runs, relaxed);
	f->hook.door = FIB_DOOR_NONE;
	if (fib_unlikely(f->thread.parting != NULL))
		part(f, f->thread.parting);
	fib_hook_leave(f);
	fib_regs_resume(arg);
}

#define ROOM 256

/*
 * The registers for thread_begin(), where fib_regs_resume() leaves the stack
 * pointer at @stack_top; and room below, for fib_ctx_make(). NULL: there is no
 * such memory. (Natively the thread would be made, and end the process.)
 */
static struct fib_regs *lay_begin(const struct fib_regs *regs,
				  uintptr_t stack_top)
{
	uintptr_t at = fib_regs_below(stack_top);
	struct fib_regs begin = *regs;
	const uint64_t zero = 0;

	fib_regs_set_result(&begin, 0);
	if (fib_copy((void *)(at - ROOM), &zero, sizeof(zero)) ||
	    fib_copy((void *)at, &begin, sizeof(begin)))
		return NULL;
	return (struct fib_regs *)at;
}

int fib_thread_clone_fiber(const struct fib_regs *regs, unsigned long flags,
			   uintptr_t stack_top, int *ptid, int *ctid,
			   unsigned long tls, uintptr_t stack)
{
	struct fib *self = fib_self(), *f;
	struct fib_parting parting = {
		.creator = self,
		.flags = (flags & ANEW) | (~flags & SHARES),
	};
	struct fib_regs *child;
	bool apart;
	int tid, r;

	if ((flags & ~(MAY | SHARES | ANEW)) ||
	    (flags & (CLONE_NEWNS | CLONE_FS)) == (CLONE_NEWNS | CLONE_FS))
		return -EINVAL;
	child = lay_begin(regs, stack_top);
	if (!child)
		return -EFAULT;
	f = fib_alloc();
	if (!f)
		return -EAGAIN;
	/* Another one may change the caller's just now: once. */
	apart = fib_load(fib_shared(&self->thread.apart), relaxed) ||
		parting.flags;
	if (fib_unlikely(apart || fib_tids_are_real()) && (r = fib_bind(f))) {
		fib_free(f);
		return r;
	}
	tid = fib_new_tid(f);
	f->fsbase = flags & CLONE_SETTLS ? tls : self->fsbase;
	f->sp = fib_ctx_make(child, thread_begin, child);
	fib_ctx_inherit(f->sp);
	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_store(&f->sig.mask, fib_load(&self->sig.mask, relaxed), relaxed);
	f->sig.altstack_flags = SS_DISABLE;
	f->call.own_files = self->call.own_files;
	f->call.plain = self->call.plain;
	f->thread.confined = self->thread.confined;
	if (fib_pkru_is_used())
		f->pkru = fib_rdpkru() ^ FIB_PKRU_INIT;
	memcpy(f->name, self->name, sizeof(f->name));
	f->thread.parting = parting.flags ? &parting : NULL;
	f->thread.apart = apart;
	if (self->thread.creating) {
		f->sig.open = self->sig.open;
		f->thread.stack = fib_stack_begin(stack) ? stack : 0;
	}
	if (flags & CLONE_CHILD_CLEARTID)
		f->thread.clear_tid = (uint32_t *)ctid;
	fib_store(&f->tid, tid, release);
	if (flags & CLONE_PARENT_SETTID)
		fib_copy(ptid, &tid, sizeof(tid));
	if (flags & CLONE_CHILD_SETTID)
		fib_copy(ctid, &tid, sizeof(tid));
	fib_thread_began(f);
	fib_launch_soon(f);
	while (fib_unlikely(parting.flags) && !fib_load(&parting.done, acquire))
		fib_park();
	return parting.result ? (int)parting.result : tid;
}

/* --- end ----------------------------------------------------------------- */

/* Natively the thread just exits; so does one that may do nothing else. */
void fib_end_process(int status)
{
	if (fib_filtered()) {
		fib_messenger_send(FIB_ERRAND_END, status);
		return;
	}
	fib_stats_end();
	fib_raw(SYS_exit_group, status);
}

/*
 * May @f have touched memory that was not there before? Not if its worker @w has run it
 * in one go, and its kernel thread has had no page fault since it was asked last: at
 * the end of a thread before this one. Who has waited is not asked for.
 */
static bool may_have_faulted(const struct fib *f, struct fib_worker *w)
{
	struct fib_worker_thread had;
	struct rusage now;

	if (!w || f->thread.began_on != w ||
	    f->thread.began_at != fib_load(&w->runs, relaxed) ||
	    !fib_fd_asks() || fib_raw(SYS_getrusage, RUSAGE_THREAD, &now))
		return true;
	had = w->thread;
	w->thread.tid = fib_load(&w->tid, relaxed);
	w->thread.faults = now.ru_minflt + now.ru_majflt;
	return w->thread.tid != had.tid || w->thread.faults != had.faults;
}

/*
 * On the worker's stack: the fiber's own may be unmapped once tid is zero. Or in
 * the monitor, for a thread that was killed.
 */
void fib_thread_gone(struct fib *f)
{
	struct fib_worker *w = fib_worker_self(); /* NULL: was killed */
	uint32_t *word = f->thread.clear_tid;
	uint32_t tid = (uint32_t)fib_load(&f->tid, relaxed);
	bool last;

	fib_robust_exit(f);
	if (f->thread.leaves_stack)
		fib_stack_end(f->thread.stack, (uintptr_t)f->sp,
			      may_have_faulted(f, w));
	/* From here on nobody finds it by its id. */
	fib_store(&f->thread.ends, (int)tid, relaxed);
	fib_signal_exit(f);
	fib_taskwork_exit(f);
	if (f == fib_main_fiber)
		fib_main_fiber = NULL;
	/*
	 * A process whose last thread exits ends with that thread's status: who
	 * is woken here may be that one, and exit before this is at its end.
	 */
	last = fib_thread_is_last();
	fib_store(&f->tid, 0, relaxed);
	fib_futex_pi_gone(tid);
	/* A store is a release: what the thread did is seen by who joins it. */
	if (word && !fib_poke32(word, 0)) {
		fib_futex_wake(fib_futex_shared(word), 1, FIB_FUTEX_ANY);
		if ((!w || !w->process.strict) && fib_futex_in_kernel(word))
			fib_raw(SYS_futex, word, FUTEX_WAKE, 1);
	}
	fib_thread_ended(f);
	if (last)
		fib_end_process(f->thread.exit_status);
	fib_store(&f->thread.renews, false, seq_cst);
	ask_renewer(f);
	fib_store(&f->thread.ends, 0, release);
}

long fib_sys_exit(int status)
{
	fib_self()->thread.exit_status = status;
	fib_exit();
}

/* --- its own state ------------------------------------------------------- */

long fib_sys_gettid(void)
{
	return fib_load(&fib_self()->tid, relaxed);
}

/* The turn of who runs on @w takes so long that the worker is to look around. */
static bool is_long_turn(const struct fib_worker *w)
{
	return fib_host_has_tsc(w) &&
	       fib_cycles() - w->cur->cycles_since > FIB_LOOK_CYCLES;
}

/*
 * Nobody else is to run on worker @w, so far as that is seen from here: the loop
 * would come back to the caller. It counts as if it had, and each 16th time it does.
 */
static bool yields_to_nobody(struct fib_worker *w)
{
	if (fib_load(&w->queued, relaxed) ||
	    fib_load(&fib_sched_of(w)->injected, relaxed) ||
	    w->tick + 1 >= FIB_POLL_EVERY || is_long_turn(w) ||
	    fib_load(&w->runs, relaxed) % 16 == 15 || fib_chaos_on)
		return false;
	w->tick++;
	fib_add(&w->runs, 1, seq_cst);
	return true;
}

/* Cycles of a yield in which nobody else has run: 1200, and with another one 6700. */
#define AT_ONCE 4000u
/* Of a worker's time, one part in so many may go into asking. */
#define SHARE 25u

/*
 * Others that the kernel has for this processor. If there were none a moment ago,
 * they are not asked for again: the call costs as much as four turns. How long, goes by
 * what the call took, for the turns are slower as well where it is.
 */
static void yield_processor(struct fib_worker *w)
{
	uint64_t before, after;

	if (!fib_host_has_tsc(w)) {
		fib_raw(SYS_sched_yield);
		return;
	}
	before = fib_cycles();
	if ((int64_t)(before - w->thread.wanted_not) < 0)
		return;
	fib_raw(SYS_sched_yield);
	after = fib_cycles();
	w->thread.wanted_not = after;
	if (after - before < AT_ONCE)
		w->thread.wanted_not += SHARE * (after - before);
}

/*
 * Who spins until another thread has got further yields for that one to run,
 * and it may need the processor of this worker: more workers than processors,
 * or other processes that want them. So the worker yields too: if it had no
 * other fiber, and now and then if it had some, which may all be spinning.
 */
long fib_sys_sched_yield(void)
{
	struct fib_worker *w = fib_worker_self();
	uint32_t before = fib_load(&w->runs, relaxed), after;

	if (!fib_self()->bound && yields_to_nobody(w)) {
		fib_raw(SYS_sched_yield);
		return 0;
	}
	fib_sched_yield();
	if (fib_worker_self() != w)
		return 0;
	after = fib_load(&w->runs, relaxed);
	if (after - before == 1)
		fib_raw(SYS_sched_yield);
	else if (after != before && after % 16 == 0)
		yield_processor(w);
	return 0;
}

long fib_sys_set_tid_address(uint32_t *word)
{
	fib_self()->thread.clear_tid = word;
	return fib_sys_gettid();
}

/* The kernel's rseq area is a kernel thread's; fibers change theirs. */
long fib_sys_rseq(void *area, uint32_t len, int flags, uint32_t sig)
{
	return -ENOSYS;
}
