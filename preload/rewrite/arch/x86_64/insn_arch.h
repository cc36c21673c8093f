/*
 * Lengths and kinds of x86-64 instructions, and moving them elsewhere.
 *
 * Owns nothing, keeps no state, takes no lock, calls nothing: callable from
 * any thread and any stack.
 *
 * Why no library: Capstone and Zydis print what they decode and carry the
 * tables for it. Linked in, Capstone made 1.6 MB and 1953 relocations of
 * every process start, and took 700 ns an instruction; what the rewriter has
 * to know is the length, whether it branches, and where a RIP-relative
 * displacement stands. The tests hold this decoder against Capstone over
 * every instruction of libc, ld.so and more.
 */
#ifndef FIB_INSN_ARCH_H
#define FIB_INSN_ARCH_H

#include <stddef.h>
#include <stdint.h>

enum fib_insn_kind {
	FIB_INSN_PLAIN,	   /* goes on with the next; can be copied */
	FIB_INSN_NOP,	   /* nop in any of its lengths, int3 as padding */
	FIB_INSN_SYSCALL,  /* 0f 05 */
	FIB_INSN_JMP,	   /* direct, rel8 or rel32 */
	FIB_INSN_JCC,	   /* conditional, rel8 or rel32 */
	FIB_INSN_LOOP,	   /* loop, jrcxz: rel8 and no longer form */
	FIB_INSN_XBEGIN,   /* rel32, a branch on abort */
	FIB_INSN_CALL,	   /* direct, rel32 */
	FIB_INSN_CALL_IND, /* through register or memory */
	FIB_INSN_JMP_IND,  /* through register or memory */
	FIB_INSN_RET,	   /* ret, iret, ud2, hlt: does not go on */
};

struct fib_insn {
	uint8_t len;
	uint8_t kind;	/* enum fib_insn_kind */
	uint8_t map;	/* 0: one-byte opcodes, 1: 0f, 2: 0f38, 3: 0f3a */
	uint8_t opcode; /* the last byte of it */
	uint8_t vex;	/* VEX or EVEX encoded */
	uint8_t rex;	/* the REX prefix or 0 */
	uint8_t has_modrm;
	uint8_t modrm;
	uint8_t rip_off; /* where the RIP-relative disp32 stands, or 0 */
	uint8_t abs_off; /* where a disp32 without base stands, or 0 */
	int32_t rel;	 /* of direct branches */
};

/**
 * Decodes one instruction of at most `room` bytes. Returns its length, or 0
 * if it is not valid in 64-bit mode or does not fit.
 */
int fib_insn_decode(const uint8_t *p, size_t room, struct fib_insn *in);

/** Whether control never reaches the instruction that follows. */
int fib_insn_ends(const struct fib_insn *in);

/**
 * Writes to dst, which will run at address `to`, what does the same as the
 * instruction at src, which ran at address `from`. Returns the number of
 * bytes, at most FIB_INSN_MOVED_MAX, or
 * -ERANGE: a displacement does not reach; -ENOSPC: room is too small;
 * -ENOTSUP: instruction that cannot be moved.
 */
int fib_insn_move(const struct fib_insn *in, const uint8_t *src, uintptr_t from,
		  uint8_t *dst, uintptr_t to, size_t room);

#define FIB_INSN_MAX	   15
#define FIB_INSN_MOVED_MAX 18

/** jmp rel32 at `at` to `to`: 5 bytes. Returns 5, or -ERANGE. */
int fib_insn_jmp(uint8_t *dst, uintptr_t at, uintptr_t to);
/** A jmp to `to` from anywhere: 14 bytes. */
void fib_insn_jmp_far(uint8_t *dst, uintptr_t to);

#endif
