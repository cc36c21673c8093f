/*
 * The registers of a system call, as a rewritten site leaves them on the stack
 * for fib_dispatch(), and what becomes of them in a child.
 *
 * From the lowest address: struct fib_regs, then the red zone of the function
 * that made the call. tramp.S of the preload builds it, regs.S here loads it;
 * the offsets are asserted below. Outside arch/ the registers are known by the
 * functions alone.
 */
#ifndef FIB_REGS_ARCH_H
#define FIB_REGS_ARCH_H

#define FIB_RED_ZONE  128
#define FIB_REGS_SIZE 136

#ifdef __ASSEMBLER__
/* clang-format off */
/* rsp points at a struct fib_regs: all registers, and rsp at slot_ret. */
	.macro	FIB_REGS_LOAD
	.irp	reg, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
	pop	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endr
	.endm
/* clang-format on */
#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fib_regs {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rdi, rsi, rbp, rbx, rdx, rcx;
	uint64_t rax;	   /* in: call number; out: result */
	uint64_t slot_ret; /* where the slot goes on after the call */
	uint64_t rip;	   /* address after the original syscall */
};

_Static_assert(sizeof(struct fib_regs) == FIB_REGS_SIZE, "tramp.S: lea");
_Static_assert(offsetof(struct fib_regs, r15) == 0, "tramp.S: SAVE");
_Static_assert(offsetof(struct fib_regs, rdi) == 64, "tramp.S: SAVE");
_Static_assert(offsetof(struct fib_regs, rax) == 112, "tramp.S: SAVE");
_Static_assert(offsetof(struct fib_regs, slot_ret) == 120, "tramp.S: call");
_Static_assert(offsetof(struct fib_regs, rip) == 128, "tramp.S: push X");

/* The number of the call, its arguments, its result. */
#define FIB_REGS_ARGS(r)                                                       \
	{                                                                      \
		(long)(r)->rdi, (long)(r)->rsi, (long)(r)->rdx,                \
			(long)(r)->r10, (long)(r)->r8, (long)(r)->r9           \
	}

static inline long fib_regs_nr(const struct fib_regs *r)
{
	return (long)r->rax;
}

static inline void fib_regs_set_result(struct fib_regs *r, long result)
{
	r->rax = (uint64_t)result;
}

/** Two words, @i 0 or 1, that a call may destroy: a child finds them. */
static inline uint64_t *fib_regs_scratch(struct fib_regs *r, int i)
{
	return i ? &r->r11 : &r->rcx;
}

/** The address after the call's instruction. */
static inline uintptr_t fib_regs_pc(const struct fib_regs *r)
{
	return r->rip;
}

/** The stack pointer that the caller had at its call. */
static inline uintptr_t fib_regs_sp(const struct fib_regs *r)
{
	return (uintptr_t)(r + 1) + FIB_RED_ZONE;
}

/** Where they have to lie so that who goes on with them has @sp. */
static inline uintptr_t fib_regs_below(uintptr_t sp)
{
	return sp - FIB_RED_ZONE - sizeof(struct fib_regs);
}

/* Do these bytes end with a call? They may by chance, so this is for hints. */
#define FIB_CALL_BYTES 6

static inline bool fib_is_call(const uint8_t b[FIB_CALL_BYTES])
{
	return b[1] == 0xe8 || (b[0] == 0xff && b[1] == 0x15) ||
	       (b[3] == 0xff && (b[4] & 0xf8) == 0x50) ||
	       (b[4] == 0xff && (b[5] & 0xf8) == 0xd0);
}

/**
 * The one way from a rewritten site into C. Called on the stack of whoever
 * made the call, with the stack aligned and no vector register saved: it and
 * all that it calls are compiled with -mgeneral-regs-only.
 */
void fib_dispatch(struct fib_regs *regs);

/**
 * The stack pointer becomes @regs, all registers are loaded from there, and the
 * caller of the call goes on at slot_ret. For new fibers.
 */
void fib_regs_resume(struct fib_regs *regs) __attribute__((noreturn));

/**
 * clone or clone3 for real, where the child gets a stack of its own: the
 * child comes to life with the stack pointer that the kernel was told, at
 * which a struct fib_regs was laid; it calls fib_clone_child(regs) and leaves
 * through fib_regs_resume(). The parent gets the result.
 */
long fib_regs_clone(long nr, long a0, long a1, long a2, long a3, long a4);
void fib_clone_child(struct fib_regs *regs);

/**
 * The signal mask that a vfork child must have. Called in the parent, on the
 * caller's stack, right before the system call, by what stands in for libc's
 * vfork (tramp.S).
 */
uint64_t fib_vfork_prepare(void);
/**
 * The child of that, on the parent's stack, with the parent's %gs; afterwards it
 * runs nothing of ours.
 */
void fib_vfork_child(void);

#endif
#endif
