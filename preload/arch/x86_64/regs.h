/*
 * What a rewritten system call site leaves on the stack for fib_dispatch().
 *
 * From the lowest address: this struct, then the 128 bytes of the red zone
 * of the function that made the call. The assembly in tramp.S builds and
 * consumes it; the offsets are asserted in rewrite.c.
 */
#ifndef FIB_ARCH_REGS_H
#define FIB_ARCH_REGS_H

#include <stdint.h>

#define FIB_RED_ZONE 128

struct fib_regs {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rdi, rsi, rbp, rbx, rdx, rcx;
	uint64_t rax;	   /* in: call number; out: result */
	uint64_t slot_ret; /* where the slot goes on after the call */
	uint64_t rip;	   /* address after the original syscall */
};

/**
 * The one way from a rewritten site into C. Called on the stack of whoever
 * made the call, with the stack aligned and no vector register saved: it and
 * all that it calls are compiled with -mgeneral-regs-only.
 */
void fib_dispatch(struct fib_regs *regs);

/**
 * Enter point for a new context (a fiber made by clone): %rsp points at a
 * struct fib_regs; loads every register from it and goes on at slot_ret.
 */
extern const char fib_tramp_resume[];

/**
 * clone or clone3 for real, where the child gets a stack of its own: the
 * child comes to life with %rsp = child_sp, which the kernel was told, and
 * at which a struct fib_regs was laid; it calls fib_clone_child(regs) and
 * leaves through fib_tramp_resume. The parent gets the result.
 */
long fib_tramp_clone(long nr, long a0, long a1, long a2, long a3, long a4);
void fib_clone_child(struct fib_regs *regs);

/*
 * fib_vfork_stub in tramp.S stands in for libc's vfork, and needs two things
 * from hooks/. The child runs none of them.
 */

/**
 * The signal mask that the child must have. Called in the parent, on the
 * caller's stack, right before the system call.
 */
uint64_t fib_vfork_prepare(void);

/** vfork failed with err (-errno): sets errno, returns -1. */
long fib_vfork_error(long err);

#endif
