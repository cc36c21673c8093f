/*
 * Context switch: the callee-saved registers of the System V ABI and the
 * floating point control words live on the stack that is left; a context is
 * the stack pointer that leads back to them.
 */
#ifndef FIB_ARCH_CTX_H
#define FIB_ARCH_CTX_H

#include <stddef.h>
#include <stdint.h>

/* From sp upward, as fib_ctx_switch() leaves it; fibhook dump reads it too. */
struct fib_ctx_frame {
	uint32_t mxcsr;
	uint32_t x87cw;
	uint64_t r15, r14, r13, r12, rbx, rbp;
	uint64_t rip;
};

/**
 * Save the caller's context in *@save and go on at @load. Returns when some
 * other switch loads what was saved. Not for signal handlers.
 */
void fib_ctx_switch(void **save, void *load);

/** First context on a stack: calls @fn(@arg), which must not return. */
void *fib_ctx_make(void *stack_top, void (*fn)(void *), void *arg);

/**
 * First context that is a jump to @rip with the stack pointer at @sp: for a
 * frame that was laid by hand. 64 bytes below @sp are used.
 */
void *fib_ctx_make_at(void *sp, const void *rip);

/* Vector state, for a switch in the midst of code that keeps it live. */
extern size_t fib_xsave_size;
void fib_xsave_init(void);
void fib_xsave(void *area);  /* 64-aligned, fib_xsave_size bytes */
void fib_xrstor(void *area);

#endif
