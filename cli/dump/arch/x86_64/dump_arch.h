/* The registers with which a backtrace begins, and where they come from. */
#ifndef FIB_DUMP_ARCH_H
#define FIB_DUMP_ARCH_H

#include <stdint.h>
#include <string.h>
#include <sys/user.h>
#include "ctx_arch.h"

#define DUMP_LIBUNWIND "libunwind-x86_64.so.8"
#define DUMP_MACHINE   EM_X86_64

/* As in <libunwind-x86_64.h>: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip. */
enum {
	DUMP_RBX = 3,
	DUMP_RBP = 6,
	DUMP_SP = 7,
	DUMP_R8 = 8,
	DUMP_R12 = 12,
	DUMP_PC = 16,
	DUMP_REGS = 17,
};

/* UNW_X86_64_RBX and so on: for who has the header. */
#define DUMP_REGS_ARE_LIBUNWINDS                                               \
	((int)DUMP_RBX == (int)UNW_X86_64_RBX &&                               \
	 (int)DUMP_RBP == (int)UNW_X86_64_RBP &&                               \
	 (int)DUMP_SP == (int)UNW_X86_64_RSP &&                                \
	 (int)DUMP_R8 == (int)UNW_X86_64_R8 &&                                 \
	 (int)DUMP_R12 == (int)UNW_X86_64_R12 &&                               \
	 (int)DUMP_PC == (int)UNW_X86_64_RIP)

/* A direct jump out of a function, as compilers make it at its end. */
#define DUMP_JUMP 5

/** Where that at @p, which runs at @at, leads to; 0: there is none. */
static inline uint64_t dump_jump_of(const uint8_t p[DUMP_JUMP], uint64_t at)
{
	int32_t distance;

	memcpy(&distance, p + 1, sizeof(distance));
	return p[0] == 0xe9 ? at + DUMP_JUMP + (uint64_t)(int64_t)distance : 0;
}

/** Of a thread that is stopped, from PTRACE_GETREGSET. */
static inline void dump_regs_of_thread(uint64_t regs[DUMP_REGS],
				       const struct user_regs_struct *u)
{
	memcpy(regs,
	       (const uint64_t[]){ u->rax, u->rdx, u->rcx, u->rbx, u->rsi,
				   u->rdi, u->rbp, u->rsp, u->r8, u->r9, u->r10,
				   u->r11, u->r12, u->r13, u->r14, u->r15,
				   u->rip },
	       DUMP_REGS * sizeof(*regs));
}

/** Of a fiber that has left its stack: @c lay at @sp. */
static inline void dump_regs_of_context(uint64_t regs[DUMP_REGS],
					const struct fib_ctx_frame *c,
					uint64_t sp)
{
	memset(regs, 0, DUMP_REGS * sizeof(*regs));
	regs[DUMP_RBX] = c->rbx;
	regs[DUMP_RBP] = c->rbp;
	regs[DUMP_R12] = c->r12;
	regs[DUMP_R12 + 1] = c->r13;
	regs[DUMP_R12 + 2] = c->r14;
	regs[DUMP_R12 + 3] = c->r15;
	regs[DUMP_PC] = c->rip;
	regs[DUMP_SP] = sp + sizeof(*c);
}

#endif
