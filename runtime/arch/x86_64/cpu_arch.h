/*
 * What the CPU is asked directly: the register that leads a kernel thread to its
 * worker, the thread pointer, the clock of cycles, and a few instructions that C
 * has no words for. All are inline, and may be called anywhere.
 */
#ifndef FIB_CPU_ARCH_H
#define FIB_CPU_ARCH_H

#include <asm/prctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "raw_arch.h"

/*
 * The bases of %fs and %gs are set by instruction where the kernel keeps what was set
 * so (FSGSBASE: Linux 5.9, and the CPU), else by a system call. Whoever starts finds
 * out; false until then. cpuid.c
 */
extern bool fib_cpu_sets_bases __attribute__((visibility("hidden")));
#define FIB_CPU_BASES_CALL SYS_arch_prctl
#define FIB_CPU_BASES_ASK  ARCH_GET_GS /* into memory; it changes nothing */

/*
 * The host register: %gs, which no program uses. Under the preload its base is the
 * kernel thread's worker, or what stands for none (fib_nobody).
 */
static inline void fib_host_reg_set(uintptr_t v)
{
	if (__builtin_expect(fib_cpu_sets_bases, 1))
		__asm__ volatile("wrgsbase %0" : : "r"(v) : "memory");
	else
		fib_raw(SYS_arch_prctl, ARCH_SET_GS, v);
}

/** The word at @offset from it, in one instruction: no signal comes between. */
#define fib_host_word(offset)                                                  \
	({                                                                     \
		void *v_;                                                      \
                                                                               \
		__asm__ volatile("movq %%gs:%c1, %0"                           \
				 : "=r"(v_)                                    \
				 : "i"(offset));                               \
		v_;                                                            \
	})

/*
 * The thread pointer, by which libc finds a thread's TLS: the base of %fs, where the
 * ABI has its own address (ELF Handling For Thread-Local Storage, 3.4.2).
 */
static inline uintptr_t fib_tls_base(void)
{
	uintptr_t v;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(v));
	return v;
}

static inline void fib_tls_base_set(uintptr_t v)
{
	if (__builtin_expect(fib_cpu_sets_bases, 1))
		__asm__ volatile("wrfsbase %0" : : "r"(v) : "memory");
	else
		fib_raw(SYS_arch_prctl, ARCH_SET_FS, v);
}

/**
 * Thread variable @name, an initial-exec pointer, as it is now: the compiler
 * cannot keep it, nor its address, from one use to the next.
 */
#define fib_tls_read(name)                                                     \
	({                                                                     \
		void *v_;                                                      \
                                                                               \
		__asm__ volatile("movq " #name "@gottpoff(%%rip), %0\n\t"      \
				 "movq %%fs:(%0), %0"                          \
				 : "=r"(v_));                                  \
		v_;                                                            \
	})

/** In a loop that waits for another CPU. */
static inline void fib_cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* Whoever takes a lock, or gives it back, does so by a full barrier. */
#define FIB_LOCK_IS_FENCE 1

/**
 * Has the line of @p fetched; any address will do. Of __builtin_prefetch() clang makes nothing
 * where it may use no vector registers, and gcc leaves out calls of functions that do nothing else.
 */
static inline void fib_prefetch(const void *p)
{
	__asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)p));
}

/** A clock that all CPUs share, in units of its own. */
static inline uint64_t fib_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/** @a * @b / @c with all 128 bits between; the result must have 64. */
static inline uint64_t fib_muldiv(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low, high;

	__asm__("mulq %3" : "=a"(low), "=d"(high) : "a"(a), "r"(b) : "cc");
	__asm__("divq %2" : "+a"(low), "+d"(high) : "r"(c) : "cc");
	return low;
}

/* Bytes, upward, with no vector register. */
static inline void fib_bytes_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(n)
			 :
			 : "memory");
}

static inline void fib_bytes_fill(void *to, int c, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

/**
 * A request to valgrind, by a sequence of instructions that does nothing
 * elsewhere: the answer is 0 then.
 */
static inline unsigned long fib_valgrind(unsigned long request, unsigned long a,
					 unsigned long b)
{
	unsigned long args[6] = { request, a, b, 0, 0, 0 }, answer = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(args)
			 : "cc", "memory");
	return answer;
}

#endif
