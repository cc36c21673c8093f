/*
 * Processes: fork and its kin, exec, the end.
 *
 * A fork child holds the calling fiber alone, on the stack it had, and is an
 * ordinary single-threaded process: %gs is zero, no worker, no epoll. Its text
 * stays rewritten, and calls go straight to the kernel, until its first thread
 * starts the runtime anew. What the child keeps (the stack pool) is locked
 * around the fork; all else it resets, and with CLONE_VFORK that as well.
 *
 * A child is the kernel thread's that made it: PR_SET_PDEATHSIG tells it of that
 * one's end, __WNOTHREAD and ptrace want to be called there. So who makes one has
 * that kernel thread to himself from then on, as natively, and it ends with him.
 * (Most wait for the child then, which keeps a kernel thread anyway.)
 *
 * A vfork or CLONE_VM child shares our memory: it runs with %gs zero and
 * touches nothing of ours.
 */
#include <linux/prctl.h>
#include <linux/sched.h>
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/io/io.h"
#include "hooks/memory/memory.h"
#include "hooks/process/process.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/thread/thread.h"
#include "runtime/hidden.h"
#include "runtime/stack.h"
#include "regs_arch.h"

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
	memset(c, 0, sizeof(*c));
	if (fib_caller() && n == size) { /* a fault is caught */
		if (fib_copy(c, (const void *)user, n))
			return -EFAULT;
	} else {
		if (!readable(user, size))
			return -EFAULT;
		memcpy(c, (const void *)user, n);
	}
	for (size_t i = n; i < size; i++)
		if (((const char *)user)[i])
			return -E2BIG;
	return !c->stack == !c->stack_size ? 0 : -EINVAL;
}

/*
 * What fib_clone_child() has to know is in the child's copy of the two registers
 * that a system call does not keep.
 */
#define CHILD_FLAGS(regs) (*fib_regs_scratch(regs, 0))
#define CHILD_MASK(regs)  (*fib_regs_scratch(regs, 1)) /* of signals */

/*
 * No flag of clone3(): its actions were cleared here, and CHILD_MASK is where the parent,
 * which waits, has a struct beside.
 */
#define CHILD_CLEARED (1ul << 63)

struct beside {
	uint64_t mask;
	struct fib_acts few; /* the program's */
};

/*
 * Where the child's registers lie on its new stack. Where there is no memory,
 * the child dies of it as natively, if the kernel makes one at all.
 */
static uintptr_t lay_child(const struct fib_regs *r, uintptr_t stack,
			   unsigned long flags, uint64_t mask)
{
	struct fib_regs *child;

	stack &= ~7ul;
	child = (struct fib_regs *)fib_regs_below(stack);
	if (!writable((uintptr_t)child, sizeof(*child)))
		return stack;
	*child = *r;
	fib_regs_set_result(child, 0);
	CHILD_FLAGS(child) = flags;
	CHILD_MASK(child) = mask;
	return (uintptr_t)child;
}

/*
 * A process of its own: make the very call, but on a stack prepared. Without a
 * stack its memory is a copy, whatever it asks for: a child that shared this one
 * would run our frames on it. @c: what clone3() was told, else NULL.
 */
static long clone_process(const struct fib_regs *r, struct clone_args *c,
			  uint64_t mask, unsigned long own)
{
	const long a[6] = FIB_REGS_ARGS(r);
	uintptr_t at;
	size_t size;

	if (!c) {
		if (!a[1])
			return fib_raw(SYS_clone, a[0] & ~CLONE_VM, 0, a[2],
				       a[3], a[4]);
		at = lay_child(r, (uintptr_t)a[1], (uint64_t)a[0], mask);
		return fib_regs_clone(SYS_clone, a[0], (long)at, a[2], a[3],
				      a[4]);
	}
	size = (size_t)a[1] < sizeof(*c) ? (size_t)a[1] : sizeof(*c);
	if (!c->stack) {
		c->flags &= ~(uint64_t)CLONE_VM;
		return fib_raw(SYS_clone3, c, size);
	}
	at = lay_child(r, c->stack + c->stack_size, c->flags | own, mask);
	c->stack_size = at - c->stack;
	if (own)
		c->flags |= CLONE_CLEAR_SIGHAND;
	return fib_regs_clone(SYS_clone3, (long)c, (long)size, 0, 0, 0);
}

/* clone3(), or CLONE_CLEAR_SIGHAND, to the kernel, or to who has a say in it. */
static bool is_unknown(long pid)
{
	return pid == -ENOSYS || pid == -EINVAL || pid == -EPERM;
}

/* As posix_spawn() makes one: with its actions cleared, as fork_cleared(), if possible. */
static long clone_beside(const struct fib_regs *r, struct clone_args *c,
			 uint64_t mask)
{
	struct beside b = { .mask = mask };
	struct clone_args with;
	long pid;

	if (!c || !(c->flags & CLONE_VFORK) ||
	    (c->flags & (CLONE_SIGHAND | CLONE_CLEAR_SIGHAND)) ||
	    !fib_fd_asks() || !fib_signal_few_acts(&b.few))
		return clone_process(r, c, mask, 0);
	with = *c;
	pid = clone_process(r, &with, (uintptr_t)&b, CHILD_CLEARED);
	return is_unknown(pid) ? clone_process(r, c, mask, 0) : pid;
}

/* The child is called as the thread that has made it, not as a worker. */
static void own_name(const struct fib *f)
{
	char name[FIB_NAME_MAX];

	if (fib_raw(SYS_prctl, PR_GET_NAME, name) == 0 &&
	    memcmp(name, f->name, sizeof(name)) != 0)
		fib_raw(SYS_prctl, PR_SET_NAME, f->name);
}

/*
 * With CLONE_FILES in @flags its descriptors are the parent's as well, which still
 * uses those of the library.
 */
static void begin_child(struct fib *f, unsigned long flags,
			const struct fib_acts *few)
{
	if (flags & CLONE_VFORK)
		fib_stack_forget();
	else
		fib_stack_unlock();
	if (flags & CLONE_FILES)
		fib_fd_leave_hidden();
	own_name(f);
	fib_signal_timer_forget();
	fib_runtime_fork_child(f, flags & CLONE_CLEAR_SIGHAND, few);
}

/*
 * What a child of worker @w has with our memory, but not with us: actions, which of the
 * signals that faults raise are ours, so that what it execs ignores what the program
 * does; an alternate stack, if it is on its parent's; and a name. Without CLONE_VFORK
 * the parent is on its way: who it is, is known if it has that worker to itself.
 */
static void begin_beside(struct fib_worker *w, unsigned long flags,
			 const struct fib_acts *few)
{
	bool waits = flags & CLONE_VFORK;
	struct fib *f = waits ? w->cur : w->bound;

	if (w->process.filtered)
		return;
	if (!(flags & CLONE_SIGHAND))
		fib_signal_vfork_child(waits ? f : NULL,
				       flags & CLONE_CLEAR_SIGHAND, few);
	if (f)
		own_name(f);
}

/* The child of fib_regs_clone(), on its own stack, with the parent's %gs. */
void fib_clone_child(struct fib_regs *regs)
{
	/* The parent's, which runs another fiber by now, perhaps. */
	struct fib_worker *w = fib_load(&fib_symtab.active, relaxed) ?
				       fib_worker_self() :
				       NULL;
	const struct beside *b = NULL;

	if (!(CHILD_FLAGS(regs) & CLONE_VM) && w && w->cur) {
		begin_child(w->cur, CHILD_FLAGS(regs), NULL);
		return;
	}
	/* Of a process that runs unhooked, under a filter: it makes no call. */
	if (!w)
		return;
	if (CHILD_FLAGS(regs) & CHILD_CLEARED)
		b = (const struct beside *)CHILD_MASK(regs);
	begin_beside(w, CHILD_FLAGS(regs), b ? &b->few : NULL);
	fib_worker_set(NULL);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK,
		b ? &b->mask : &CHILD_MASK(regs), 0, 8);
}

struct fork {
	uint64_t mask;
	unsigned long flags;
	int open[2]; /* fib_open_fork_begin() */
	struct fib_acts few;
	bool cleared; /* the child's actions, but for these few */
};

/*
 * A signal may be sent to the child before it has run at all. Its handler is
 * the program's, and may do anything, so it must not find the parent's fibers:
 * all signals are blocked from before the fork until the child has reset its
 * state, and those that faults raise are no exception, since kill() sends them
 * too.
 */
/* @elsewhere: the child does not come to fork_end(). */
static void fork_begin(struct fork *k, unsigned long flags, bool elsewhere)
{
	uint64_t all = ~0ull;

	k->flags = flags;
	fib_fd_shared();
	/* Which others need: until the child has exec'd it may be long. */
	if (flags & CLONE_VFORK)
		fib_block_enter(false);
	else
		fib_stack_lock();
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &k->mask, 8);
	fib_open_fork_begin(k->open,
			    elsewhere || (flags & (CLONE_FILES | CLONE_VFORK)));
	if (!(flags & CLONE_VFORK))
		fib_signal_child_begins();
}

/* A brother's parent is ours. */
static void child_made(struct fib *f, unsigned long flags, long pid, bool began)
{
	fib_signal_child_made(f, flags & CLONE_PARENT ? -1 : (int)pid, began);
}

static long fork_end(struct fork *k, struct fib *f, long pid)
{
	if (pid) {
		child_made(f, k->flags, pid, !(k->flags & CLONE_VFORK));
		fib_open_fork_made(k->open);
	}
	if (pid == 0)
		begin_child(f, k->flags, k->cleared ? &k->few : NULL);
	else if (k->flags & CLONE_VFORK)
		fib_block_leave();
	else
		fib_stack_unlock();
	fib_open_fork_end(k->open, pid > 0);
	if (pid)
		fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &k->mask, 0, 8);
	return pid;
}

/*
 * libc's fork(): the kernel takes our actions from the child, which saves it as many calls
 * (Linux 5.5). False: not so.
 */
static bool fork_cleared(struct fork *k, const struct fib_regs *r, long *pid)
{
	const long a[6] = FIB_REGS_ARGS(r);
	struct clone_args c = {
		.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
			 CLONE_CLEAR_SIGHAND,
		.child_tid = (uint64_t)a[3],
		.exit_signal = SIGCHLD,
	};

	/* It may have waited for its turn since they were looked at. */
	k->cleared = k->cleared && fib_signal_acts_stand(&k->few);
	if (!k->cleared)
		return false;
	*pid = fib_raw(SYS_clone3, &c, sizeof(c));
	k->cleared = !is_unknown(*pid);
	return k->cleared;
}

/* As fork: the child goes on here, on a copy of this stack; or on one of its own. */
static long fork_process(struct fib *f, struct fib_regs *r,
			 struct clone_args *c, unsigned long flags,
			 bool own_stack)
{
	const unsigned long plain =
		CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
	struct fork k;
	long pid;

	k.cleared = !c && flags == plain && !own_stack && fib_fd_asks() &&
		    fib_signal_few_acts(&k.few);
	fork_begin(&k, flags, own_stack);
	if (!fork_cleared(&k, r, &pid))
		pid = clone_process(r, c, fib_load(&f->sig.mask, relaxed), 0);
	return fork_end(&k, f, pid);
}

static long do_clone(unsigned long flags, uintptr_t stack, int *ptid, int *ctid,
		     unsigned long tls, struct clone_args *c)
{
	struct fib *f = fib_self();
	struct fib_regs *r = f->hook.regs;
	long pid;

	if (flags & CLONE_THREAD) {
		if (!(flags & CLONE_VM) || !(flags & CLONE_SIGHAND) || !stack)
			return -EINVAL;
		return fib_thread_clone_fiber(r, flags, stack, ptid, ctid, tls,
					      c ? c->stack : 0);
	}
	fib_bind_self();
	fib_signal_child_exits((int)(flags & CSIGNAL));
	/* Of clone() a filter may know the flags that it lets pass. */
	if (c && !(flags & CLONE_PARENT_SETTID)) {
		c->flags |= CLONE_PARENT_SETTID;
		c->parent_tid = (uintptr_t)fib_signal_child_number(f);
	}
	if (!(flags & CLONE_VM) || !stack)
		return fork_process(f, r, c, flags, stack);
	fib_fd_shared();
	if (flags & CLONE_CHILD_CLEARTID)
		fib_shared_word((const uint32_t *)ctid);
	if (flags & CLONE_VFORK)
		fib_block_enter(false);
	pid = clone_beside(r, c, fib_load(&f->sig.mask, relaxed));
	child_made(f, flags, pid, false);
	if (flags & CLONE_VFORK)
		fib_block_leave();
	return pid;
}

long fib_sys_clone(unsigned long flags, uintptr_t stack, int *ptid, int *ctid,
		   unsigned long tls)
{
	return do_clone((uint32_t)flags, stack, ptid, ctid, tls, NULL);
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
			(int *)c.parent_tid, (int *)c.child_tid, c.tls, &c);
}

long fib_sys_fork(void)
{
	struct fib *f = fib_self();
	struct fork k;

	/* Where no kernel thread is to be had, the child is a worker's. */
	fib_bind_self();
	k.cleared = false;
	fork_begin(&k, 0, false);
	return fork_end(&k, f, fib_raw(SYS_fork));
}

/* libc's vfork() is a stub in tramp.S; this is syscall(SYS_vfork). */
long fib_sys_vfork(void)
{
	struct fib *f = fib_self();
	struct fork k;

	if (fib_filtered())
		return fib_sys_fork();
	fib_bind_self();
	k.cleared = false;
	fork_begin(&k, CLONE_VFORK, false);
	return fork_end(&k, f,
			fib_raw(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
}

bool fib_clone_foreign(struct fib_regs *r)
{
	const long a[6] = FIB_REGS_ARGS(r);
	struct clone_args c;

	bool is_clone = fib_regs_nr(r) == SYS_clone;

	if (is_clone ?
		    !a[1] :
		    fetch_args(&c, (uintptr_t)a[0], (size_t)a[1]) || !c.stack)
		return false;
	fib_regs_set_result(r, clone_process(r, is_clone ? NULL : &c, 0, 0));
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
	return fib_load(&f->sig.mask, relaxed);
}

void fib_vfork_child(void)
{
	if (fib_caller())
		begin_beside(fib_worker_self(), CLONE_VM | CLONE_VFORK, NULL);
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

/* --- the end ------------------------------------------------------------- */

long fib_sys_exit_group(int status)
{
	fib_stats_end();
	return fib_raw(SYS_exit_group, status);
}
