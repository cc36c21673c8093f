/*
 * Context switch: the callee-saved registers of the System V ABI and the
 * floating point control words and flags live on the stack that is left; a context is
 * the stack pointer that leads back to them.
 */
#ifndef FIB_CTX_ARCH_H
#define FIB_CTX_ARCH_H

#include <stddef.h>
#include <stdint.h>

#define FIB_MXCSR_INIT 0x1f80u

/* From sp upward, as fib_ctx_switch() leaves it; fibhook dump reads it too. */
struct fib_ctx_frame {
	uint32_t mxcsr;
	uint16_t x87cw, x87sw; /* of the status word the flags count */
	uint64_t r15, r14, r13, r12, rbx, rbp;
	uint64_t rip;
};

/** Where a context goes on, and the innermost record of {frame, return address}. */
static inline void fib_ctx_where(const struct fib_ctx_frame *at,
				 uintptr_t *code, uintptr_t *frame)
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

/** What fib_ctx_make() has made begins with the caller's floating point modes and flags. */
static inline void fib_ctx_inherit(struct fib_ctx_frame *f)
{
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
			 : "=m"(f->mxcsr), "=m"(f->x87cw), "=m"(f->x87sw));
}

/*
 * Floating point as it is, with its modes and flags, put by for a signal handler,
 * which begins as a program does.
 */
struct fib_float {
	char x87[108];
	uint32_t mxcsr;
};

static inline void fib_float_put_by(struct fib_float *f)
{
	const uint32_t mxcsr = FIB_MXCSR_INIT;

	/* fnsave leaves the x87 as fninit does. */
	__asm__ volatile("fnsave %0\n\tstmxcsr %1\n\tldmxcsr %2"
			 : "=m"(f->x87), "=m"(f->mxcsr)
			 : "m"(mxcsr));
}

static inline void fib_float_take_back(const struct fib_float *f)
{
	__asm__ volatile("frstor %0\n\tldmxcsr %1"
			 :
			 : "m"(f->x87), "m"(f->mxcsr));
}

/*
 * Vector state, for a switch in the midst of code that keeps it live. The sets of
 * registers are masks of XSAVEC: x87, SSE, AVX, the three AVX-512 components, and
 * APX's registers; not AMX's tiles, which no code has live across a call of libc.
 */
enum fib_vectors {
	FIB_VECTORS_NONE = 0,
	FIB_VECTORS_SSE = 0x2,	    /* what is left of the next, mostly */
	FIB_VECTORS_BASELINE = 0x3, /* what every CPU of this kind has */
	FIB_VECTORS_ALL = 0x800e7,
};

#define FIB_XSAVE_BASELINE 576 /* bytes: x87 and SSE, and a header */

extern size_t fib_xsave_size;	     /* of all */
extern size_t fib_xsave_native_size; /* in a signal frame of the kernel's */
void fib_xsave_init(void);
/*
 * @area: 64-aligned, fib_xsave_room(@which) bytes. What is to be restored from it:
 * of the baseline SSE alone, where no x87 register is in use. XSAVEC and XRSTOR
 * take longer than all else of a switch, 16 moves next to nothing.
 */
enum fib_vectors fib_xsave(void *area, enum fib_vectors which);
void fib_xrstor(void *area, enum fib_vectors which);

static inline size_t fib_xsave_room(enum fib_vectors which)
{
	return which == FIB_VECTORS_BASELINE ? FIB_XSAVE_BASELINE :
					       fib_xsave_size;
}

#endif
