/* Context switch, the part that needs no assembly. See ctx_arch.h. */
#include "runtime/base.h"
#include "cpuid_arch.h"
#include "ctx_arch.h"

#define XSAVE_LEGACY 512 /* x87 and SSE; a header of 64 follows */

_Static_assert(FIB_XSAVE_BASELINE == XSAVE_LEGACY + 64, "ctx_arch.h");

extern const char fib_ctx_entry[];
_Static_assert(offsetof(struct fib_ctx_frame, rip) == 56, "see switch.S");

#define XSAVE_AMX_DATA 18 /* not in frames, but for who has asked for it */
#define XSAVE_MAGIC2   4  /* behind the registers in a frame */

size_t fib_xsave_size, fib_xsave_native_size;
/* XGETBV can tell, and takes less: 5 ns and 112 on an Intel Xeon, 11 and 4 on an EPYC. */
static bool prefers_xgetbv;

static struct fib_ctx_frame *frame_below(void *sp)
{
	struct fib_ctx_frame *f = (struct fib_ctx_frame *)sp - 1;

	f->mxcsr = FIB_MXCSR_INIT;
	f->x87cw = 0x37f;
	f->x87sw = 0;
	f->r15 = f->r14 = f->r13 = f->r12 = f->rbx = f->rbp = 0;
	return f;
}

void *fib_ctx_make(void *stack_top, void (*fn)(void *), void *arg)
{
	uintptr_t top = (uintptr_t)stack_top & ~(uintptr_t)15;
	struct fib_ctx_frame *f = frame_below((void *)top);

	f->rbx = (uint64_t)fn;
	f->r12 = (uint64_t)arg;
	f->rip = (uint64_t)fib_ctx_entry;
	return f;
}

#define SSE_EACH(move)                                                         \
	move(0) move(1) move(2) move(3) move(4) move(5) move(6) move(7)        \
		move(8) move(9) move(10) move(11) move(12) move(13) move(14)   \
			move(15)
#define SSE_STORE(i) "movaps %%xmm" #i ", 16*" #i "(%0)\n\t"
#define SSE_LOAD(i)  "movaps 16*" #i "(%0), %%xmm" #i "\n\t"

/*
 * Is there nothing in the x87 registers, or MMX's, which are the same? Code keeps
 * them from the top of their stack on. XGETBV tells that the thread has never used
 * them, FXAM looks at the first.
 */
static bool xgetbv_says_empty(void)
{
	uint32_t used, high;

	__asm__ volatile("xgetbv" : "=a"(used), "=d"(high) : "c"(1));
	return !(used & 1);
}

static bool fxam_says_empty(void)
{
	uint16_t status;

	__asm__ volatile("fxam\n\tfnstsw %0" : "=a"(status));
	return (status & 0x4500) == 0x4100;
}

static bool x87_is_empty(void)
{
	return (prefers_xgetbv && xgetbv_says_empty()) || fxam_says_empty();
}

static uint64_t cycles_of(bool (*ask)(void))
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t since = fib_cycles();

		ask();
		since = fib_cycles() - since;
		if (since < least)
			least = since;
	}
	return least;
}

/*
 * What XSAVEC may write, which is in the compacted format: the components of
 * the mask one after the other. What CPUID says of the whole is for all that
 * the CPU has, with AMX 11 KB, and the area lies on the program's stacks.
 */
void fib_xsave_init(void)
{
	size_t end = XSAVE_LEGACY + 64, native = end;
	struct fib_cpuid is;
	unsigned have = fib_cpuid(0xd, 0, &is) ? is.a : 0;

	for (unsigned i = 2; i < 32; i++) {
		/* Its size, where it begins, and whether that is aligned. */
		if (!(have & 1u << i) || !fib_cpuid(0xd, i, &is))
			continue;
		if (i != XSAVE_AMX_DATA && is.b + is.a > native)
			native = is.b + is.a;
		if (FIB_VECTORS_ALL & 1u << i)
			end = (is.c & 2 ? FIB_ALIGN_UP(end, 64) : end) + is.a;
	}
	fib_xsave_size = FIB_ALIGN_UP(end, 64);
	fib_xsave_native_size = native + XSAVE_MAGIC2;
	prefers_xgetbv =
		fib_cpuid(0xd, 1, &is) && (is.a & 4) &&
		cycles_of(xgetbv_says_empty) < cycles_of(fxam_says_empty);
}

enum fib_vectors fib_xsave(void *area, enum fib_vectors which)
{
	uint64_t *header = (uint64_t *)((char *)area + XSAVE_LEGACY);

	if (which == FIB_VECTORS_BASELINE && fib_likely(x87_is_empty())) {
		__asm__ volatile(SSE_EACH(SSE_STORE) : : "r"(area) : "memory");
		return FIB_VECTORS_SSE;
	}
	for (int i = 0; i < 8; i++)
		header[i] = 0;
	__asm__ volatile("xsavec64 (%0)"
			 :
			 : "r"(area), "a"(which), "d"(0)
			 : "memory");
	return which;
}

void fib_xrstor(void *area, enum fib_vectors which)
{
	if (fib_likely(which == FIB_VECTORS_SSE)) {
		__asm__ volatile(SSE_EACH(SSE_LOAD) : : "r"(area) : "memory");
		return;
	}
	__asm__ volatile("xrstor64 (%0)"
			 :
			 : "r"(area), "a"(which), "d"(0)
			 : "memory");
}
