/*
 * A preload library without a runtime: rewrites at start, and hands every
 * system call that arrives to the kernel. Whatever a program does differently
 * under it is the fault of the rewriter.
 *
 * PASSTHRU_STATS=1 prints figures at start and exit; PASSTHRU_ALL=1 rewrites
 * every site of all objects.
 */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include "regs_arch.h"
#include "raw_arch.h"
#include "tests/patch/passthru.h"

/* For a vfork child: hooks/host/fib_host_self.h. */
extern void *const fib_nobody[2] __attribute__((visibility("hidden")));
void *const fib_nobody[2];

struct passthru_counts passthru_counts;

static void count(uint64_t *c)
{
	__atomic_fetch_add(c, 1, __ATOMIC_RELAXED);
}

/* The registers of the child, below the top of its stack. */
static uint64_t lay_regs(const struct fib_regs *regs, uint64_t top)
{
	struct fib_regs *to;

	to = (struct fib_regs *)fib_regs_below(top);
	*to = *regs;
	to->rax = 0;
	return (uint64_t)to;
}

static long do_clone(struct fib_regs *regs)
{
	uint64_t sp = lay_regs(regs, regs->rsi);

	return fib_regs_clone(SYS_clone, (long)regs->rdi, (long)sp,
			       (long)regs->rdx, (long)regs->r10,
			       (long)regs->r8);
}

static long do_clone3(struct fib_regs *regs)
{
	const uint8_t *from = (const uint8_t *)regs->rdi;
	struct clone_args args = { 0 };
	uint64_t top, sp, size = regs->rsi;

	if (size > sizeof(args))
		size = sizeof(args);
	for (uint64_t i = 0; i < size; i++)
		((volatile uint8_t *)&args)[i] = from[i];
	top = args.stack + args.stack_size;
	sp = lay_regs(regs, top);
	args.stack_size -= top - sp;
	return fib_regs_clone(SYS_clone3, (long)&args, (long)size, 0, 0, 0);
}

void fib_clone_child(struct fib_regs *regs)
{
	count(&passthru_counts.children);
}

void fib_dispatch(struct fib_regs *regs)
{
	long ret;

	count(&passthru_counts.calls);
	switch (regs->rax) {
	case SYS_vfork: /* syscall(SYS_vfork) */
		ret = fib_raw(SYS_fork);
		break;
	case SYS_clone:
		if (!regs->rsi)
			goto other;
		ret = do_clone(regs);
		break;
	case SYS_clone3:
		if (!((struct clone_args *)regs->rdi)->stack)
			goto other;
		ret = do_clone3(regs);
		break;
	case SYS_read:
	case SYS_futex:
		count(regs->rax == SYS_read ? &passthru_counts.reads :
					      &passthru_counts.futexes);
		/* fall through */
	default:
	other:
		ret = fib_raw6((long)regs->rax, (long)regs->rdi,
			       (long)regs->rsi, (long)regs->rdx,
			       (long)regs->r10, (long)regs->r8, (long)regs->r9);
	}
	regs->rax = (uint64_t)ret;
}

uint64_t fib_vfork_prepare(void)
{
	uint64_t mask = 0;

	count(&passthru_counts.vforks);
	fib_raw(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof(mask));
	return mask | passthru_counts.vfork_mask;
}

void fib_vfork_child(void)
{
}
