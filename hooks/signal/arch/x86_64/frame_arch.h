/*
 * The frame in which an interrupted fiber's registers lie while its signal
 * handlers run: the kernel's struct rt_sigframe, copied from the worker's
 * alternate stack to the fiber's. sigframe.S goes through it.
 *
 * And the registers in a ucontext, which nobody else looks at. All of this may be
 * called by a signal handler, on any stack.
 */
#ifndef FIB_FRAME_ARCH_H
#define FIB_FRAME_ARCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct fib;
struct fib_regs;

/* The kernel's ucontext: glibc's has more room at the end. */
#define FIB_KERNEL_UC_SIZE 304

struct fib_sigframe {
	uint64_t pretcode;
	union {
		char raw[FIB_KERNEL_UC_SIZE];
		struct {
			unsigned long uc_flags;
			struct ucontext_t *uc_link;
			stack_t uc_stack;
			mcontext_t uc_mcontext;
			uint64_t uc_sigmask;
		} uc;
	};
	siginfo_t info;
};

/* Where an interrupted fiber goes on; sp is 8 above the frame. */
extern const char fib_sigframe_begin[], fib_sigframe_again[],
	fib_sigframe_last[];
/* The restorer of the kernel's handler. */
extern const char fib_sigreturn[];

/**
 * On the fiber's stack: run the handler for @sig (a fault), or what is pending
 * (@sig 0). The frame is then ready for rt_sigreturn on this worker. entry.c
 */
struct fib *fib_sigframe_deliver(struct fib_sigframe *frame, int sig);

/** handler(sig, info, uc) with the stack pointer at @sp: 0, or -EFAULT. */
int fib_call_on_stack(void (*handler)(int, siginfo_t *, void *), int sig,
		      siginfo_t *info, void *uc, uintptr_t sp);

/**
 * The kernel would lay a frame at *@frame, and @fp_size bytes of registers at the
 * result, for a handler that begins below @sp.
 */
uintptr_t fib_sigframe_place(uintptr_t sp, size_t fp_size, uintptr_t *frame);

/* Of the vector registers that fib_uc_fill() tells, and how they are aligned. */
#define FIB_FP_SIZE  512
#define FIB_FP_ALIGN 16

/**
 * What a handler sees of a fiber that it finds in a system call: @r, or NULL: the
 * caller's place in the library. @again: before the call, not behind it. The vector
 * registers, as they are, go to @fp.
 */
void fib_uc_fill(ucontext_t *uc, void *fp, const struct fib_regs *r,
		 bool again);

/** The program counter. */
static inline uintptr_t fib_uc_ip(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static inline void fib_uc_set_ip(ucontext_t *uc, uintptr_t ip)
{
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
}

static inline uintptr_t fib_uc_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

/** Vector registers as the kernel has laid them, *@size bytes; or NULL. */
static inline const void *fib_uc_fp(const ucontext_t *uc, uint32_t *size)
{
	const uint32_t *fp = (const uint32_t *)uc->uc_mcontext.fpregs;

	/* struct _fpx_sw_bytes: magic1, extended_size */
	*size = fp && fp[116] == 0x46505853 ? fp[117] : 512;
	return fp;
}

/** @frame's vector registers lie at @fp. */
static inline void fib_sigframe_set_fp(struct fib_sigframe *frame, uintptr_t fp)
{
	frame->uc.uc_mcontext.fpregs = (void *)fp;
}

/** What was interrupted goes on in fib_sigframe_deliver(@frame, @sig). */
static inline void fib_uc_divert(ucontext_t *uc, struct fib_sigframe *frame,
				 int sig)
{
	greg_t *g = uc->uc_mcontext.gregs;

	g[REG_RSP] = (greg_t)((uintptr_t)frame + 8);
	g[REG_RSI] = sig;
	g[REG_RIP] = (greg_t)(uintptr_t)fib_sigframe_begin;
	g[REG_EFL] &= ~0x500l; /* direction, trap */
}

/** Is @ip behind the last look at attention, before the sigreturn is made? */
static inline bool fib_sigframe_ends(uintptr_t ip)
{
	return ip >= (uintptr_t)fib_sigframe_last &&
	       ip < (uintptr_t)fib_sigframe_last + 32;
}

/** May that be a frame of the kernel's, to judge by its registers? */
static inline bool fib_sigframe_plausible(const struct fib_sigframe *s)
{
	enum {
		CS_USER = 0x33, /* of 64-bit code */
		UC_SS = 6,	/* UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	};
	const greg_t *g = s->uc.uc_mcontext.gregs;
	uintptr_t fp = (uintptr_t)s->uc.uc_mcontext.fpregs;

	return s->uc.uc_flags <= 7 && (s->uc.uc_flags & UC_SS) &&
	       !s->uc.uc_link && (g[REG_CSGSFS] & 0xffff) == CS_USER &&
	       fp - (uintptr_t)s <= 65536 && (uintptr_t)g[REG_RSP] > fp;
}

#endif
