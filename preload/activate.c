/*
 * Activation: from a process with one thread to one fiber on N workers.
 *
 * Just before the program's first thread is created, or in the constructor
 * with FIBHOOK_START=eager. Everything that can go wrong is looked at before
 * anything is changed; after that, rewriting is all or nothing. A process that
 * cannot be activated runs unhooked, and says why.
 *
 * Order: signals blocked; descriptors opened, and the monitor's kernel thread
 * made, which waits; rseq given back (pthread_create copies from its
 * creator whether it works, and a fiber's registration would not: fatal);
 * sites found; text rewritten. What fails up to here is undone to the last.
 * Then the caller becomes fiber 0, with what the kernel knows of its thread
 * (clear_child_tid, robust list, alternate stack, mask); workers start, as many
 * as can be had, and the monitor is let go. From the return on, the caller runs
 * as a fiber.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "hooks/fd/fd.h"
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/dispatch.h"
#include "hooks/futex/futex.h"
#include "hooks/io/io.h"
#include "hooks/memory/memory.h"
#include "hooks/process/process.h"
#include "hooks/report/report.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "hooks/wait/line.h"
#include "hooks/wait/slow.h"
#include "preload/preload.h"
#include "preload/rewrite/rewrite.h"
#include "preload/symbols.h"
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/iom.h"
#include "runtime/uring.h"
#include "shared/text.h"
#include "ctx_arch.h"
#include "pkru_arch.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#define TID_WITHIN	     512 /* words: struct pthread has more */
#define RSEQ_FLAG_UNREGISTER 1
#define RSEQ_SIGNATURE	     0x53053053
#define RSEQ_FAILED	     ((uint32_t)-2)

static bool refused, rewritten;
static char danger[FIB_REASON_MAX]; /* an object that was loaded later */
static struct fib_found found;
static long slack_ns; /* PR_SET_TIMERSLACK, as at the start */

/* --- rseq ---------------------------------------------------------------- */

static uint32_t *rseq_area(unsigned *len)
{
	const ptrdiff_t *offset = fib_lookup("__rseq_offset", NULL);
	const unsigned *size = fib_lookup("__rseq_size", NULL);

	/* glibc 2.35 and later */
	if (!offset || !size || !*size)
		return NULL;
	*len = *size < 32 ? 32 : *size;
	return (uint32_t *)(fib_tls_base() + (uintptr_t)*offset);
}

/* Words of struct rseq: cpu_id_start, cpu_id. */
static const char *rseq_give_back(void)
{
	unsigned len;
	uint32_t *area = rseq_area(&len);

	if (!area || (int32_t)area[1] < 0)
		return NULL;
	if (fib_raw(SYS_rseq, area, len, RSEQ_FLAG_UNREGISTER, RSEQ_SIGNATURE) <
	    0)
		return "rseq cannot be unregistered";
	area[0] = 0;
	area[1] = RSEQ_FAILED;
	return NULL;
}

static void rseq_take_again(void)
{
	unsigned len;
	uint32_t *area = rseq_area(&len);

	if (area && area[1] == RSEQ_FAILED)
		fib_raw(SYS_rseq, area, len, 0, RSEQ_SIGNATURE);
}

/* Where syscall() lies: calls through it ask for just what they say. */
static void find_syscall(void)
{
	size_t size = 0;
	uintptr_t at = (uintptr_t)fib_lookup("syscall", &size);

	fib_libc.syscall_from = at;
	fib_libc.syscall_to = at + size;
}

/* --- the caller becomes a fiber ------------------------------------------ */

/*
 * Where struct pthread has its thread's id. libc tells libthread_db: bits, number,
 * offset; before 2.34 in a table that is not exported. Then it is what the kernel
 * clears when the thread ends, as it was told when the program began; and where the
 * kernel does not say so (no CHECKPOINT_RESTORE), the only word that is the id: of
 * a container's first process, 1, there are several.
 */
static ptrdiff_t find_tid(void)
{
	const uint32_t *told = fib_lookup("_thread_db_pthread_tid", NULL);
	const int *own = (const int *)pthread_self(), *at = NULL;
	struct fib *f = fib_caller();
	int id = f ? fib_load(&f->tid, relaxed) : (int)fib_raw(SYS_gettid);
	ptrdiff_t at_word = -1;

	if (told)
		return told[0] == 32 && told[1] == 1 ? (int32_t)told[2] : -1;
	if (!f && fib_raw(SYS_prctl, PR_GET_TID_ADDRESS, &at) == 0 &&
	    at >= own && at < own + TID_WITHIN && *at == id)
		return (const char *)at - (const char *)own;
	for (int i = 0; i < TID_WITHIN; i++) {
		if (own[i] != id)
			continue;
		if (at_word >= 0)
			return -1;
		at_word = i * (ptrdiff_t)sizeof(int);
	}
	return at_word;
}

int *fib_tid_word(pthread_t t)
{
	static ptrdiff_t offset FIB_START = -1;

	if (offset < 0)
		offset = find_tid();
	return offset < 0 ? NULL : (int *)(t + (uintptr_t)offset);
}

static struct fib *adopt_caller(void)
{
	struct fib *f = fib_alloc();
	size_t len = 0;
	int type;

	if (!f)
		return NULL;
	f->fsbase = fib_tls_base();
	fib_store(&f->tid, (int)fib_raw(SYS_gettid), relaxed);
	/* Also where the kernel does not: it has no CHECKPOINT_RESTORE. */
	f->thread.clear_tid = (uint32_t *)fib_tid_word(pthread_self());
	fib_raw(SYS_prctl, PR_GET_TID_ADDRESS, &f->thread.clear_tid);
	fib_raw(SYS_get_robust_list, 0, &f->thread.robust_head, &len);
	fib_raw(SYS_prctl, PR_GET_NAME, f->name);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_setcanceltype(type, NULL);
	f->thread.cancel_async = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	return f;
}

static void fork_child(void)
{
	fib_store(&fib_line_out.fd, -1, relaxed);
	fib_rewrite_fork_child();
	refused = false;
	fib_symtab.reason[0] = 0;
	fib_store(&fib_symtab.state, FIB_STATE_LOADED, relaxed);
}

/*
 * Its own system calls go to the kernel from now on: a futex wait in it holds a
 * kernel thread, and does not meet wake-ups from hooked code.
 */
static void object_left(void)
{
	fib_count(objects_left);
	fib_log(FIB_LOG_WARN, "a library's own calls are not hooked: %s",
		fib_rewrite_reason());
}

/*
 * If that code runs, its thread finds no worker any more. Where there is none yet, or
 * no more, the runtime does not start again.
 */
static void object_endangers(void)
{
	snprintf(danger, sizeof(danger), "%s", fib_rewrite_reason());
	if (fib_load(&fib_symtab.active, relaxed))
		fib_log(FIB_LOG_WARN,
			"the program may hang or crash, and is to be left out "
			"(FIBHOOK_EXCEPT): %s",
			danger);
}

static const char *rewrite(void)
{
	if (rewritten)
		return NULL;
	if (fib_rewrite_scan(fib_options.rewrite_all, !found.filtered) ||
	    fib_rewrite_apply())
		return fib_rewrite_reason();
	fib_rewrite_left = object_left;
	fib_rewrite_endangers = object_endangers;
	rewritten = true;
	return NULL;
}

/* Threads that the program creates with no wish of its own. */
static void set_stack_size(void)
{
	/* Both younger than what the library may be linked with. */
	int (*set)(const pthread_attr_t *) =
		fib_lookup("pthread_setattr_default_np", NULL);
	int (*set_size)(pthread_attr_t *, size_t) =
		fib_lookup("pthread_attr_setstacksize", NULL);
	pthread_attr_t attr;

	if (!fib_options.stack_size || !set || !set_size)
		return;
	pthread_attr_init(&attr);
	if (set_size(&attr, fib_options.stack_size) || set(&attr))
		fib_log(FIB_LOG_WARN, "FIBHOOK_STACK_SIZE: libc refuses %zu",
			fib_options.stack_size);
	pthread_attr_destroy(&attr);
}

/* --- the start ------------------------------------------------------------ */

/*
 * All that can fail comes first, and is undone where it does: descriptors, the
 * monitor's kernel thread, text. It waits until all is there. Then signals are
 * taken, and the rest cannot fail.
 */
static void close_all(int receiver)
{
	fib_fd_unhide(receiver);
	fib_iom_discard(&fib_sched);
}

static long open_all(int *receiver)
{
	long r;

	/* A filter may take offence at a limit that is set. */
	fib_fd_reach(!found.filtered);
	r = fib_iom_init(&fib_sched, true);
	if (r >= 0) {
		r = *receiver = fib_receiver_init();
		if (r >= 0)
			r = fib_monitor_init(&fib_sched, *receiver);
		if (r < 0)
			close_all(*receiver);
	}
	fib_fd_reach(false);
	if (r >= 0)
		fib_iom_limit_changed(&fib_sched);
	return r;
}

static const char *prepare(int n)
{
	const char *why;
	int receiver;
	long r = open_all(&receiver);

	if (r < 0)
		return fib_because(fib_load(&fib_step, relaxed), r);
	r = fib_sched_prepare(&fib_sched, (unsigned)n);
	if (r < 0) {
		close_all(receiver);
		return fib_because(fib_load(&fib_step, relaxed), r);
	}
	why = rseq_give_back();
	if (!why)
		why = rewrite();
	if (!why)
		return NULL;
	rseq_take_again();
	fib_sched_cancel(&fib_sched);
	close_all(receiver);
	return why;
}

/*
 * Threads have the slack of who makes them. The monitor's ticks are to be in time, and so
 * it has less than a program that asks for more; workers that it makes have the program's.
 */
static void thread_clone(struct fib_worker *w)
{
	if (w)
		w->process.slack_ns = fib_worker_self() ? 0 : slack_ns;
	fib_identity_inherit(w);
}

static void thread_init(struct fib_worker *w)
{
	if (slack_ns > FIB_SLACK_NS && (!w || w->process.slack_ns) &&
	    fib_fd_asks())
		fib_raw(SYS_prctl, PR_SET_TIMERSLACK,
			w ? slack_ns : FIB_SLACK_NS);
	fib_signal_thread_init(w);
}

static void held_up(struct fib_worker *w)
{
	fib_holdup_note(w);
	fib_slow_held_up(w);
}

const struct fib_host fib_host = {
	.fiber_exit = fib_thread_gone,
	.thread_clone = thread_clone,
	.thread_init = thread_init,
	.thread_end = fib_identity_leave,
	.altstack_size = FIB_ALTSTACK_SIZE,
	.receive = fib_receiver_run,
	.receive_urgent = fib_receiver_run_defaults,
	.preempt = fib_signal_preempt,
	.preempt_call = fib_signal_preempt_call,
	.kick = fib_signal_kick,
	.stuck = fib_stuck_tell,
	.log = fib_log_plain,
	.late = fib_fd_late,
	.prefetch = fib_fd_prefetch,
	.news = fib_open_news,
	.held_up = held_up,
	.came_back = fib_holdup_over,
	.interrupted = fib_signal_interrupted,
	.process_end = fib_end_process,
};

/* Has the caller a policy that the threads it creates do not get? */
static bool keeps_policy(void)
{
	long r = found.filtered ? 0 : fib_raw(SYS_sched_getscheduler, 0);

	return r > 0 && (r & SCHED_RESET_ON_FORK);
}

extern char fib_sealed_start[], fib_sealed_end[];

/* FIB_SEALED. A fork child that starts anew has one thread, and opens it again. */
static void protect_sealed(int prot)
{
	fib_raw(SYS_mprotect, fib_sealed_start,
		fib_sealed_end - fib_sealed_start, prot);
}

/* Text that an earlier start has rewritten asks for a worker, and is to find none. */
static void give_back_host_reg(void)
{
	if (!rewritten)
		fib_cpu_host_reg_give_back();
}

static const char *start(uint64_t mask)
{
	int n = fib_options.workers ? fib_options.workers : fib_cpus();
	struct fib *f;
	const char *why;
	bool ring;

	/* Whom pthread_cancel() means would not be known, nor whom to wake. */
	if (fib_lookup("pthread_create", NULL) && !fib_tid_word(pthread_self()))
		return "libc does not tell where a thread has its id";
	protect_sealed(PROT_READ | PROT_WRITE);
	fib_cpu_host_reg_take();
	f = adopt_caller();
	if (!f) {
		give_back_host_reg();
		return fib_because("fibers", -ENOMEM);
	}
	fib_clock_init(getauxval(AT_SYSINFO_EHDR));
	fib_chaos_init(fib_options.chaos, fib_options.chaos_only);
	fib_symtab.chaos = fib_options.chaos;
	fib_xsave_init();
	fib_tids_init();
	fib_pkru_init(found.filtered);
	fib_libc.testcancel = fib_lookup("pthread_testcancel", NULL);
	fib_libc.setcancelstate = pthread_setcancelstate;
	fib_libc.fork_child = fork_child;
	find_syscall();
	fib_baseline_find();
	/* Before there are high numbers, up to which the kernel would look. */
	fib_signalfd_init();
	why = prepare(n);
	if (why) {
		fib_store(&f->tid, 0, relaxed);
		fib_free(f);
		give_back_host_reg();
		return why;
	}
	fib_store(&fib_fd_may_ask, !found.filtered || found.may_ask, relaxed);
	slack_ns = fib_fd_asks() ? fib_raw(SYS_prctl, PR_GET_TIMERSLACK) : 0;
	ring = fib_shared_init();
	fib_futex_init();
	fib_line_reset();
	fib_open_reset();
	fib_io_tty_reset();
	fib_slow_reset();
	fib_fd_reach(!found.filtered);
	fib_log_open(found.filtered);
	fib_stats_open();
	fib_fd_reach(false);
	fib_main_fiber = f;
	/* A filter may take offence at what it needs. */
	fib_uring_allow(!found.filtered);
	fib_hooks_start(f, mask);
	fib_state_begins();
	fib_sched_run(&fib_sched, f);
	fib_signal_thread_init(fib_worker_self());
	if (fib_tids_are_real())
		fib_tids_real(true);
	if (ring)
		fib_fd_unseen();
	/* It is this kernel thread's: hooks/io/ring.c, hooks/time/timers.c */
	if (ring || found.clock_timer)
		fib_bind_self();
	if (keeps_policy())
		fib_dedicate();
	if (!found.filtered)
		fib_signal_ask_release();
	fib_log(FIB_LOG_INFO, "active: %d of %d workers",
		fib_load(&fib_sched.running, relaxed), n);
	return NULL;
}

/* @early: the program has not asked for a thread yet. */
static void activate(bool early)
{
	struct fib_rewrite_stats st;
	uint64_t all = ~0ull, mask;
	bool alone = false; /* nobody else looks at the environment */
	const char *why;

	fib_init();
	if (fib_options.disable || refused ||
	    fib_load(&fib_symtab.active, acquire))
		return;
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	/* A filter is looked at before any other call is made. */
	why = fib_obstacle(early, &found);
	if (!why && *danger)
		why = danger;
	if (!why && fib_in_handler(mask, found.filtered))
		why = "called from a signal handler";
	else if (!why || found.denied)
		alone = true;
	if (!why)
		why = start(mask);
	protect_sealed(PROT_READ);
	if (why) {
		fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
		if (why == fib_obstacle_later)
			return;
		goto refuse;
	}
	set_stack_size();
	fib_rewrite_stats(&st);
	fib_log(FIB_LOG_INFO, "%u sites rewritten in %u objects", st.sites,
		st.objects);
	return;
refuse:
	refused = true;
	fib_state_tell(FIB_STATE_UNHOOKED, why);
	fib_log_stderr(found.denied);
	if (found.silent)
		return;
	if (alone)
		fib_warn("running unhooked: %s", why);
	else
		fib_log(FIB_LOG_WARN, "running unhooked: %s", why);
}

void fib_activate(void)
{
	int saved = errno;

	activate(false);
	errno = saved;
}

void fib_init(void)
{
	static bool done FIB_START;
	const int *tid;

	if (done)
		return;
	done = true;
	fib_cpu_init();
	fib_text(fib_symtab.program, sizeof(fib_symtab.program),
		 program_invocation_short_name, SIZE_MAX, false);
	/* Before libc is at work the kernel's id of the thread is the process's. */
	tid = fib_tid_word(pthread_self());
	fib_line_pid = tid ? *tid : 0;
	fib_options_read();
	fib_line_pid = 0;
	fib_real_init();
	/* Of two copies, the one that is last in LD_PRELOAD runs. */
	if (fib_lookup("fib_symtab", NULL)) {
		fib_options.disable = true;
		fib_state_tell(FIB_STATE_DISABLED,
			       "another copy of the library runs the program");
	}
}

/* A constructor that runs before this one may have had the first thread. */
__attribute__((constructor)) static void constructor(void)
{
	int saved = errno; /* main() finds 0 */

	fib_init();
	if (fib_options.eager)
		activate(true);
	errno = saved;
}
