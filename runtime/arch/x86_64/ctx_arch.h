/*
 * Context switch: the callee-saved registers of the System V ABI and the
 * floating point control words live on the stack that is left; a context is
 * the stack pointer that leads back to them.
 */
#ifndef FIB_CTX_ARCH_H
#define FIB_CTX_ARCH_H

#include <stddef.h>
#include <stdint.h>

/* From sp upward, as fib_ctx_switch() leaves it; fibhook dump reads it too. */
struct fib_ctx_frame {
	uint32_t mxcsr;
	uint32_t x87cw;
	uint64_t r15, r14, r13, r12, rbx, rbp;
	uint64_t rip;
};

/** Where a context goes on, and the innermost record of {frame, return address}. */
static inline void fib_ctx_where(const struct fib_ctx_frame *at, uintptr_t *code,
				 uintptr_t *frame)
{
	*code = at->rip;
	*frame = at->rbp;
}

/**
 * Save the caller's context in *@save and go on at @load. Returns when some
 * other switch loads what was saved. Not for signal handlers.
 */
void fib_ctx_switch(void **save, void *load);

/** First context on a stack: calls @fn(@arg), which must not return. */
void *fib_ctx_make(void *stack_top, void (*fn)(void *), void *arg);

/* Vector state, for a switch in the midst of code that keeps it live. */
extern size_t fib_xsave_size;
extern size_t fib_xsave_native_size; /* in a signal frame of the kernel's */
void fib_xsave_init(void);
void fib_xsave(void *area); /* 64-aligned, fib_xsave_size bytes */
void fib_xrstor(void *area);

#endif
