/*
 * Processes: fork and its kin, exec, waiting for children, the end.
 *
 * A fork child holds the calling fiber alone, on the stack it had, and is an
 * ordinary single-threaded process: %gs is zero, no worker, no epoll. Its text
 * stays rewritten, and calls go straight to the kernel, until its first thread
 * starts the runtime anew. What the child keeps (the stack pool) is locked
 * around the fork; all else it resets.
 *
 * A process whose first thread is the only one left, and changes what belongs
 * to a kernel thread, becomes such a process itself: natively it has one kernel
 * thread, so nothing of it may be left that has not made the change, and nothing
 * may make calls of its own, which a filter may forbid.
 *
 * A child is the kernel thread's that made it: PR_SET_PDEATHSIG tells it of that
 * one's end, __WNOTHREAD and ptrace want to be called there. So who makes one has
 * that kernel thread to himself from then on, as natively, and it ends with him.
 * (Most wait for the child then, which keeps a kernel thread anyway.)
 *
 * A vfork or CLONE_VM child shares our memory: it runs with %gs zero and
 * touches nothing of ours.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/wait.h>
#include "hooks/signal.h"
#include "preload/arch/x86_64/regs.h"

void fib_runtime_fork_child(struct fib *f)
{
	fib_sched_forget(&fib_sched);
	fib_iom_reset(&fib_sched);
	fib_futex_reset();
	fib_reset_all(NULL);
	fib_stats_at_exit(-1);
	fib_main_fiber = NULL;
	fib_store(&f->attention, 0, relaxed);
	f->work = NULL;
	f->own_files = false;
	f->plain = 0;
	f->restore_mask = FIB_MASK_NONE;
	if (fib_libc.fork_child)
		fib_libc.fork_child();
	fib_signal_fork_child(f);
}

/* --- back to one thread ---------------------------------------------------- */

/* What natively would be in the kernel's queue goes there. All are blocked. */
static void give_back_signals(struct fib *f)
{
	long pid = fib_raw(SYS_getpid);
	siginfo_t info;
	int sig;

	while ((sig = fib_signal_kept(~0ull, &info)))
		fib_raw(SYS_rt_sigqueueinfo, pid, sig, &info);
	while ((sig = fib_signal_take(f, ~0ull, &info)))
		fib_raw(SYS_rt_tgsigqueueinfo, pid, pid, sig, &info);
}

/* Does another thread of the program exist, or end just now? */
static bool alone(struct fib *self)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (f != self && fib_load(&f->tid, acquire))
			return false;
	}
	/* Its creator, if any, is gone as well; and it is on its way out. */
	while (fib_threads_live() != 1)
		fib_raw(SYS_sched_yield);
	return true;
}

bool fib_runtime_leave(void)
{
	struct fib *f = fib_self();
	uint64_t all = ~0ull;

	if (f != fib_main_fiber || !alone(f) || fib_dedicate())
		return false;
	fib_signal_no_kicks();
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
	fib_sched_end_others(&fib_sched);
	give_back_signals(f);
	fib_raw(SYS_set_tid_address, f->clear_tid);
	if (f->robust_head)
		fib_raw(SYS_set_robust_list, f->robust_head, f->robust_len);
	fib_stats_keep();
	fib_runtime_fork_child(f);
	fib_stats_resume();
	return true;
}

/* --- clone --------------------------------------------------------------- */

struct clone_call {
	unsigned long flags; /* with the exit signal, as for clone */
	uintptr_t stack;     /* top, or 0 */
	int *ptid, *ctid;
	unsigned long tls;
};

/*
 * Memory that the program named, perhaps in a process that has no handler of
 * ours to catch a fault: the kernel tells, which copies a set before it looks
 * at what is to be done with it. @n: 8 to a page.
 */
static bool readable(uintptr_t at, size_t n)
{
	return fib_raw(SYS_rt_sigprocmask, -1, at, 0, 8) != -EFAULT &&
	       fib_raw(SYS_rt_sigprocmask, -1, at + n - 8, 0, 8) != -EFAULT;
}

static bool writable(uintptr_t at, size_t n)
{
	return fib_raw(SYS_rt_sigprocmask, 0, 0, at, 8) == 0 &&
	       fib_raw(SYS_rt_sigprocmask, 0, 0, at + n - 8, 8) == 0;
}

/* As copy_clone_args_from_user() and clone3_stack_valid() of kernel/fork.c. */
static long fetch_args(struct clone_args *c, uintptr_t user, size_t size)
{
	size_t n = size < sizeof(*c) ? size : sizeof(*c);

	if (size > FIB_PAGE)
		return -E2BIG;
	if (size < CLONE_ARGS_SIZE_VER0)
		return -EINVAL;
	if (!readable(user, size))
		return -EFAULT;
	memset(c, 0, sizeof(*c));
	memcpy(c, (const void *)user, n);
	for (size_t i = n; i < size; i++)
		if (((const char *)user)[i])
			return -E2BIG;
	return !c->stack == !c->stack_size ? 0 : -EINVAL;
}

/*
 * Where the child's registers lie on its new stack. Where there is no memory,
 * the child dies of it as natively, if the kernel makes one at all.
 */
static uintptr_t lay_child(const struct fib_regs *r, uintptr_t stack,
			   uint64_t mask)
{
	struct fib_regs *child;

	stack &= ~7ul;
	child = (struct fib_regs *)(stack - FIB_RED_ZONE - sizeof(*child));
	if (!writable((uintptr_t)child, sizeof(*child)))
		return stack;
	*child = *r;
	child->rax = 0;
	child->rcx = mask; /* the child's; scratch for the program */
	return (uintptr_t)child;
}

/*
 * A process of its own: make the very call, but on a stack prepared. Without a
 * stack it is a fork, whatever it asks for: a child that shared this one would
 * run our frames on it.
 */
static long clone_process(struct fib_regs *r, uint64_t mask)
{
	struct clone_args c;
	size_t size = r->rsi < sizeof(c) ? r->rsi : sizeof(c);
	uint64_t vfork = CLONE_VM | CLONE_VFORK;
	uintptr_t at;
	long err;

	if (r->rax == SYS_clone) {
		if (!r->rsi)
			return fib_raw(SYS_clone, r->rdi & ~vfork, 0, r->rdx,
				       r->r10, r->r8);
		at = lay_child(r, r->rsi, mask);
		return fib_tramp_clone(SYS_clone, (long)r->rdi, (long)at,
				       (long)r->rdx, (long)r->r10, (long)r->r8);
	}
	err = fetch_args(&c, r->rdi, r->rsi);
	if (err)
		return err;
	if (!c.stack) {
		c.flags &= ~vfork;
		return fib_raw(SYS_clone3, &c, size);
	}
	at = lay_child(r, c.stack + c.stack_size, mask);
	c.stack_size = at - c.stack;
	return fib_tramp_clone(SYS_clone3, (long)&c, (long)size, 0, 0, 0);
}

/* The child of fib_tramp_clone(), on its own stack, with the parent's %gs. */
void fib_clone_child(struct fib_regs *regs)
{
	unsigned long flags = regs->rdi;
	struct fib_worker *w = fib_worker_self();

	/* clone3: the caller's arguments, not the copy */
	if (regs->rax == 0 && regs->slot_ret && regs->r11 == SYS_clone3)
		flags = ((struct clone_args *)regs->rdi)->flags;
	if (!(flags & CLONE_VM) && w && w->cur) {
		fib_stack_unlock();
		fib_runtime_fork_child(w->cur);
		return;
	}
	fib_worker_set(NULL);
	if (w)
		fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &regs->rcx, 0, 8);
}

/*
 * A signal may be sent to the child before it has run at all. Its handler is
 * the program's, and may do anything, so it must not find the parent's fibers:
 * all signals are blocked from before the fork until the child has reset its
 * state, and those that faults raise are no exception, since kill() sends them
 * too.
 */
static uint64_t fork_begin(void)
{
	uint64_t all = ~0ull, mask;

	fib_fd_shared();
	fib_stack_lock();
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	return mask;
}

static long fork_end(struct fib *f, long pid, uint64_t mask)
{
	fib_stack_unlock();
	if (pid == 0)
		fib_runtime_fork_child(f);
	else
		fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	return pid;
}

/* As fork: the child goes on here, on a copy of this stack. */
static long fork_process(struct fib *f, struct fib_regs *r)
{
	uint64_t mask = fork_begin();

	return fork_end(f, clone_process(r, fib_load(&f->sigmask, relaxed)),
			mask);
}

static long do_clone(unsigned long flags, uintptr_t stack, int *ptid, int *ctid,
		     unsigned long tls)
{
	struct fib *f = fib_self();
	struct fib_regs *r = f->regs;
	long pid;

	if (flags & CLONE_THREAD) {
		if (!(flags & CLONE_VM) || !(flags & CLONE_SIGHAND) || !stack)
			return -EINVAL;
		return fib_thread_clone_fiber(r, flags, stack, ptid, ctid, tls);
	}
	fib_bind_self();
	r->r11 = r->rax; /* for fib_clone_child(); scratch for the program */
	if (!(flags & CLONE_VM) || !stack)
		return fork_process(f, r);
	fib_fd_shared();
	if (flags & CLONE_VFORK)
		fib_block_enter();
	pid = clone_process(r, fib_load(&f->sigmask, relaxed));
	if (flags & CLONE_VFORK)
		fib_block_leave();
	return pid;
}

long fib_sys_clone(unsigned long flags, uintptr_t stack, int *ptid, int *ctid,
		   unsigned long tls)
{
	return do_clone((uint32_t)flags, stack, ptid, ctid, tls);
}

long fib_sys_clone3(const void *args, size_t size)
{
	struct clone_args c;
	long r = fetch_args(&c, (uintptr_t)args, size);

	if (r)
		return r;
	/* A fiber's id cannot be chosen. */
	if ((c.flags & CLONE_THREAD) &&
	    (c.exit_signal || (c.flags & CSIGNAL) || c.set_tid_size))
		return -EINVAL;
	return do_clone(c.flags | c.exit_signal,
			c.stack ? c.stack + c.stack_size : 0,
			(int *)c.parent_tid, (int *)c.child_tid, c.tls);
}

long fib_sys_fork(void)
{
	struct fib *f = fib_self();
	uint64_t mask;

	/* Where no kernel thread is to be had, the child is a worker's. */
	fib_bind_self();
	mask = fork_begin();
	return fork_end(f, fib_raw(SYS_fork), mask);
}

/* libc's vfork() is a stub in tramp.S; this is syscall(SYS_vfork). */
long fib_sys_vfork(void)
{
	return fib_sys_fork();
}

bool fib_clone_foreign(struct fib_regs *r)
{
	struct clone_args c;

	if (r->rax == SYS_clone ? !r->rsi :
				  fetch_args(&c, r->rdi, r->rsi) || !c.stack)
		return false;
	r->r11 = r->rax;
	r->rax = (uint64_t)clone_process(r, 0);
	return true;
}

uint64_t fib_vfork_prepare(void)
{
	struct fib *f = fib_caller();
	uint64_t mask = 0;

	if (!f) {
		fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, 0, &mask, 8);
		return mask;
	}
	fib_hook_enter(f);
	fib_bind_self();
	fib_hook_leave(f);
	fib_fd_shared();
	return fib_load(&f->sigmask, relaxed);
}

/* --- exec ---------------------------------------------------------------- */

long fib_sys_execve(const char *path, char *const *argv, char *const *envp)
{
	long r;

	if (!fib_signal_exec_begin(fib_self()))
		return -FIB_ERESTARTNOINTR;
	r = fib_raw(SYS_execve, path, argv, envp);
	fib_signal_exec_failed(fib_self());
	return r;
}

long fib_sys_execveat(int dir, const char *path, char *const *argv,
		      char *const *envp, int flags)
{
	long r;

	if (!fib_signal_exec_begin(fib_self()))
		return -FIB_ERESTARTNOINTR;
	r = fib_raw(SYS_execveat, dir, path, argv, envp, flags);
	fib_signal_exec_failed(fib_self());
	return r;
}

/* --- children ------------------------------------------------------------ */

/* SIGCHLD comes before the wait for its child is over (do_notify_parent()), and
 * so does what the child has sent. */
static long reaped(long r)
{
	if (r >= 0)
		fib_signal_settle(~0ull);
	return r;
}

/*
 * As do_wait() of the kernel, which looks at the children before it looks at
 * signals: a child's SIGCHLD does not end the wait for that child. The kernel
 * does so here as well, but what has ended its wait may be a kick whose signal
 * was handled long ago, and the SIGCHLD come after it. @attention says whether
 * there was a signal before the last try.
 */
static long wait_for(long nr, const long a[6],
		     bool (*try)(const long a[6], long *r))
{
	bool inside = false, attention = false;
	long r;

	while (!try(a, &r)) {
		if (attention)
			return -EINTR;
		r = fib_blocking(nr, a);
		if (r != -EINTR && !(inside && r == -FIB_ERESTARTNOINTR))
			break;
		inside = true;
		attention = fib_load(&fib_self()->attention, acquire);
	}
	return reaped(r);
}

static bool try_wait4(const long a[6], long *r)
{
	*r = fib_raw(SYS_wait4, a[0], a[1], a[2] | WNOHANG, a[3]);
	return *r || (a[2] & WNOHANG);
}

/* Only where it can say which child is an empty try told from a result. */
static bool try_waitid(const long a[6], long *r)
{
	siginfo_t own, *info = a[2] ? (siginfo_t *)a[2] : &own;
	int pid = 0;

	if (fib_copy(&info->si_pid, &pid, sizeof(pid)))
		return false;
	*r = fib_raw(SYS_waitid, a[0], a[1], info, a[3] | WNOHANG, a[4]);
	return *r || fib_copy(&pid, &info->si_pid, sizeof(pid)) || pid;
}

long fib_sys_wait4(int pid, int *status, int options, void *usage)
{
	return wait_for(SYS_wait4,
			(long[6]){ pid, (long)status, options, (long)usage },
			try_wait4);
}

long fib_sys_waitid(int type, int id, void *info, int options, void *usage)
{
	long a[6] = { type, id, (long)info, options, (long)usage };

	if (options & WNOHANG)
		return reaped(fib_pass(SYS_waitid, a));
	return wait_for(SYS_waitid, a, try_waitid);
}

/* --- the end ------------------------------------------------------------- */

static int stats_fd = -1, stats_kept = -1;
static long stats_pid; /* of the process that left the runtime */
static struct fib_file stats_file;

void fib_stats_at_exit(int fd)
{
	stats_fd = fd;
	fib_file_note(&stats_file, fd);
}

static unsigned put_number(char *out, uint64_t v)
{
	char tmp[24];
	unsigned n = 0, len = 0;

	do {
		tmp[n++] = (char)('0' + v % 10);
	} while (v /= 10);
	while (n)
		out[len++] = tmp[--n];
	return len;
}

/* A pipe that nobody reads must not keep a process from its end. */
static bool has_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct timespec ts = { 0, 500000000 };

	return fib_raw(SYS_ppoll, &p, 1, &ts, 0, 8) != 0;
}

void fib_stats_print(int fd)
{
	char line[96];

	for (unsigned i = 0; i < FIB_STATS; i++) {
		const char *name = fib_stat_name(i);
		unsigned n = 0;

		while (name[n] && n < 64) {
			line[n] = name[n];
			n++;
		}
		line[n++] = ' ';
		n += put_number(line + n,
				fib_load(&fib_symtab.stats[i], relaxed));
		line[n++] = '\n';
		if (!has_room(fd))
			return;
		fib_raw(SYS_write, fd, line, n);
	}
}

void fib_stats_end(void)
{
	/* Under a filter it may be killed for that. */
	if (stats_fd >= 0 && !fib_filtered() &&
	    fib_file_is(&stats_file, stats_fd))
		fib_stats_print(stats_fd);
}

/* Not for a vfork child, which has our memory. */
void fib_stats_left(void)
{
	if (stats_fd >= 0 && !fib_load(&fib_symtab.active, relaxed) &&
	    fib_raw(SYS_getpid) == stats_pid)
		fib_stats_end();
}

void fib_stats_keep(void)
{
	if (stats_fd >= 0)
		stats_kept = (int)fib_raw(SYS_fcntl, stats_fd, F_DUPFD_CLOEXEC,
					  3);
}

void fib_stats_resume(void)
{
	stats_pid = fib_raw(SYS_getpid);
	if (stats_kept >= 0)
		fib_stats_at_exit(fib_fd_hide(stats_kept));
	stats_kept = -1;
}

bool fib_stats_wanted(void)
{
	return stats_fd >= 0;
}

long fib_sys_exit_group(int status)
{
	fib_stats_end();
	return fib_raw(SYS_exit_group, status);
}

/* Natively the thread just exits. */
void fib_end_process(int status)
{
	if (fib_filtered())
		fib_messenger_send(FIB_ERRAND_END, status);
	else
		fib_sys_exit_group(status);
}
