/*
 * The x86-64 instruction decoder of the rewriter: see insn_arch.h. The
 * opcode maps are those of the Intel SDM, volume 2, appendix A, and of
 * AMD's manual, volume 4, for XOP. SSE4a's oddities are refused.
 */
#include "insn_arch.h"

#include <errno.h>
#include <string.h>

/* What follows an opcode. */
enum {
	N = 0x00, /* nothing */
	M = 0x01, /* ModRM */
	B = 0x02, /* imm8 */
	W = 0x04, /* imm16 */
	Z = 0x08, /* imm32, or imm16 under a 66 prefix */
	R = 0x10, /* rel32 whatever the prefixes */
	G = 0x20, /* depends on ModRM or prefixes: see operands() */
	D = 0x40, /* imm32 */
	X = 0x80, /* not an opcode of 64-bit mode, or a prefix */
};

/* clang-format off */
static const uint8_t one_byte[256] = {
	/* 00 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 10 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 20 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 30 */ M, M, M, M, B, Z, X, X, M, M, M, M, B, Z, X, X,
	/* 40 */ X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	/* 50 */ N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
	/* 60 */ X, X, X, M, X, X, X, X, Z, M|Z, B, M|B, N, N, N, N,
	/* 70 */ B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,
	/* 80 */ M|B, M|Z, X, M|B, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 90 */ N, N, N, N, N, N, N, N, N, N, X, N, N, N, N, N,
	/* a0 */ G, G, G, G, N, N, N, N, B, Z, N, N, N, N, N, N,
	/* b0 */ B, B, B, B, B, B, B, B, G, G, G, G, G, G, G, G,
	/* c0 */ M|B, M|B, W, N, X, X, M|B, M|Z, W|B, N, W, N, N, B, X, N,
	/* d0 */ M, M, M, M, X, X, X, N, M, M, M, M, M, M, M, M,
	/* e0 */ B, B, B, B, B, B, B, B, R, R, X, B, N, N, N, N,
	/* f0 */ X, N, X, X, N, N, M|G, M|G, N, N, N, N, N, N, M, M,
};

static const uint8_t two_byte[256] = {
	/* 00 */ M, M, M, M, X, N, N, N, N, N, X, N, X, M, N, M|B,
	/* 10 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 20 */ M|G, M|G, M|G, M|G, X, X, X, X, M, M, M, M, M, M, M, M,
	/* 30 */ N, N, N, N, N, N, X, N, X, X, X, X, X, X, X, X,
	/* 40 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 50 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 60 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* 70 */ M|B, M|B, M|B, M|B, M, M, M, N, M, M, X, X, M, M, M, M,
	/* 80 */ R, R, R, R, R, R, R, R, R, R, R, R, R, R, R, R,
	/* 90 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* a0 */ N, N, N, M, M|B, M, X, X, N, N, N, M, M|B, M, M, M,
	/* b0 */ M, M, M, M, M, M, M, M, M, M, M|B, M, M, M, M, M,
	/* c0 */ M, M, M|B, M, M|B, M|B, M|B, M, N, N, N, N, N, N, N, N,
	/* d0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* e0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
	/* f0 */ M, M, M, M, M, M, M, M, M, M, M, M, M, M, M, M,
};
/* clang-format on */

struct cursor {
	const uint8_t *p;
	size_t room; /* of the whole instruction: at most 15 */
	size_t at;
	uint8_t opsize, rep, addrsize;
};

static int next(struct cursor *c)
{
	return c->at < c->room ? c->p[c->at++] : -1;
}

static int32_t read_i32(const uint8_t *p)
{
	return (int32_t)(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
}

static void write_i32(uint8_t *p, int32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)((uint32_t)v >> (8 * i));
}

static int prefixes(struct cursor *c, struct fib_insn *in)
{
	for (;;) {
		int b = next(c);

		switch (b) {
		case 0x66:
			c->opsize = 1;
			break;
		case 0xf2:
		case 0xf3:
			c->rep = (uint8_t)b;
			break;
		case 0x67:
			c->addrsize = 1;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			break;
		default:
			if ((b & 0xf0) != 0x40)
				return b;
			/* Only the last before the opcode counts. */
			in->rex = (uint8_t)b;
			continue;
		}
		in->rex = 0;
	}
}

/* VEX (c4, c5) and EVEX (62): sets map and opcode, returns what follows. */
static int vector_prefix(struct cursor *c, struct fib_insn *in, int b)
{
	int map = 1;

	in->vex = 1;
	if (b == 0xc5) {
		next(c);
	} else if (b == 0xc4) {
		map = next(c) & 0x1f;
		next(c);
	} else {
		map = next(c) & 7;
		next(c);
		next(c);
	}
	b = next(c);
	if (b < 0 || map == 0 || map > 6 || map == 4)
		return X;
	in->map = (uint8_t)map;
	in->opcode = (uint8_t)b;
	if (map == 3)
		return M | B;
	if (map != 1)
		return M;
	if (b == 0x77)
		return N;
	if ((b >= 0x70 && b <= 0x73) || b == 0xc2 || (b >= 0xc4 && b <= 0xc6))
		return M | B;
	return M;
}

/* XOP: 8f where a pop would have another reg field than 0. */
static int xop_prefix(struct cursor *c, struct fib_insn *in)
{
	int map = next(c) & 0x1f;
	int b;

	next(c);
	b = next(c);
	if (b < 0 || map > 10)
		return X;
	in->vex = 1;
	in->map = (uint8_t)map;
	in->opcode = (uint8_t)b;
	if (map == 8)
		return M | B;
	return map == 9 ? M : M | D;
}

static int opcode(struct cursor *c, struct fib_insn *in, int b)
{
	if (b == 0x8f && c->at < c->room && (c->p[c->at] & 0x38) &&
	    (c->p[c->at] & 0x1f) >= 8)
		return xop_prefix(c, in);
	if (b == 0xc4 || b == 0xc5 || b == 0x62)
		return vector_prefix(c, in, b);
	if (b == 0x0f) {
		b = next(c);
		in->map = 1;
		if (b == 0x38 || b == 0x3a) {
			in->map = b == 0x38 ? 2 : 3;
			b = next(c);
		}
	}
	if (b < 0)
		return X;
	in->opcode = (uint8_t)b;
	switch (in->map) {
	case 0:
		return one_byte[b];
	case 1:
		/* extrq and insertq have immediates of their own. */
		return b == 0x78 && (c->opsize || c->rep) ? X : two_byte[b];
	case 2:
		return M;
	default:
		return M | B;
	}
}

static int modrm(struct cursor *c, struct fib_insn *in, int control_reg)
{
	int b = next(c), mod, rm;
	int disp = 0;

	if (b < 0)
		return -1;
	in->has_modrm = 1;
	in->modrm = (uint8_t)b;
	mod = b >> 6;
	rm = b & 7;
	if (mod == 3 || control_reg)
		return 0;
	if (rm == 4) {
		int sib = next(c);

		if (sib < 0)
			return -1;
		if (mod == 0 && (sib & 7) == 5) {
			disp = 4;
			in->abs_off = (uint8_t)c->at;
		}
	} else if (mod == 0 && rm == 5) {
		disp = 4;
		in->rip_off = (uint8_t)c->at;
	}
	if (mod == 1)
		disp = 1;
	else if (mod == 2)
		disp = 4;
	c->at += (size_t)disp;
	return 0;
}

/* Bytes of immediates behind ModRM. */
static size_t immediates(const struct cursor *c, const struct fib_insn *in,
			 int what)
{
	size_t n = 0;
	size_t z = c->opsize && !(in->rex & 8) ? 2 : 4;

	if (what & B)
		n += 1;
	if (what & W)
		n += 2;
	if (what & Z)
		n += z;
	if (what & (R | D))
		n += 4;
	if (!(what & G) || in->map)
		return n;
	if ((in->opcode & 0xfc) == 0xa0)
		n += c->addrsize ? 4 : 8;
	else if ((in->opcode & 0xf8) == 0xb8)
		n += in->rex & 8 ? 8 : z;
	else if (in->opcode == 0xf6 && !(in->modrm & 0x30))
		n += 1;
	else if (in->opcode == 0xf7 && !(in->modrm & 0x30))
		n += z;
	return n;
}

static int kind_of_one_byte(const struct fib_insn *in)
{
	int op = in->opcode, reg = in->modrm >> 3 & 7;

	switch (op) {
	case 0x90:
		return in->rex & 1 ? FIB_INSN_PLAIN : FIB_INSN_NOP;
	case 0xcc:
		return FIB_INSN_NOP;
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xf4:
		return FIB_INSN_RET;
	case 0xe8:
		return FIB_INSN_CALL;
	case 0xe9:
	case 0xeb:
		return FIB_INSN_JMP;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return FIB_INSN_LOOP;
	case 0xc7:
		return in->modrm == 0xf8 ? FIB_INSN_XBEGIN : FIB_INSN_PLAIN;
	case 0xff:
		if (reg == 2 || reg == 3)
			return FIB_INSN_CALL_IND;
		return reg == 4 || reg == 5 ? FIB_INSN_JMP_IND : FIB_INSN_PLAIN;
	default:
		return (op & 0xf0) == 0x70 ? FIB_INSN_JCC : FIB_INSN_PLAIN;
	}
}

static int kind_of(const struct fib_insn *in)
{
	if (in->vex || in->map > 1)
		return FIB_INSN_PLAIN;
	if (in->map == 0)
		return kind_of_one_byte(in);
	switch (in->opcode) {
	case 0x05:
		return FIB_INSN_SYSCALL;
	case 0x07:
	case 0x0b:
	case 0xb9:
	case 0xff:
		return FIB_INSN_RET;
	case 0x1f:
		return FIB_INSN_NOP;
	default:
		return (in->opcode & 0xf0) == 0x80 ? FIB_INSN_JCC :
						     FIB_INSN_PLAIN;
	}
}

int fib_insn_decode(const uint8_t *p, size_t room, struct fib_insn *in)
{
	struct cursor c = { .p = p, .room = room };
	int b, what;

	*in = (struct fib_insn){ 0 };
	if (c.room > FIB_INSN_MAX)
		c.room = FIB_INSN_MAX;
	b = prefixes(&c, in);
	if (b < 0)
		return 0;
	what = opcode(&c, in, b);
	if (what & X)
		return 0;
	if (what & M) {
		int control_reg = in->map == 1 && (what & G);

		if (modrm(&c, in, control_reg))
			return 0;
		if (!in->map && in->opcode == 0x8f && (in->modrm & 0x38))
			return 0;
	}
	c.at += immediates(&c, in, what);
	if (c.at > c.room)
		return 0;
	in->len = (uint8_t)c.at;
	in->kind = (uint8_t)kind_of(in);
	switch (in->kind) {
	case FIB_INSN_JMP:
	case FIB_INSN_JCC:
	case FIB_INSN_CALL:
	case FIB_INSN_XBEGIN:
	case FIB_INSN_LOOP:
		in->rel = what & (R | Z) ? read_i32(p + c.at - 4) :
					   (int8_t)p[c.at - 1];
	}
	return in->len;
}

int fib_insn_ends(const struct fib_insn *in)
{
	return in->kind == FIB_INSN_JMP || in->kind == FIB_INSN_JMP_IND ||
	       in->kind == FIB_INSN_RET;
}

/* Stores at dst the displacement from `end` to target. */
static int put_rel(uint8_t *dst, uintptr_t end, uintptr_t target)
{
	int64_t rel = (int64_t)(target - end);

	if (rel != (int32_t)rel)
		return -ERANGE;
	write_i32(dst, (int32_t)rel);
	return 0;
}

int fib_insn_jmp(uint8_t *dst, uintptr_t at, uintptr_t to)
{
	dst[0] = 0xe9;
	return put_rel(dst + 1, at + 5, to) ? -ERANGE : 5;
}

void fib_insn_jmp_far(uint8_t *dst, uintptr_t to)
{
	static const uint8_t jmp[6] = { 0xff, 0x25 }; /* jmp *0(%rip) */

	memcpy(dst, jmp, sizeof(jmp));
	memcpy(dst + sizeof(jmp), &to, sizeof(to));
}

/* push the address after the original call; jmp to what it called. */
static int move_call(uint8_t *dst, uintptr_t to, uintptr_t ret,
		     uintptr_t target)
{
	dst[0] = 0x68;
	write_i32(dst + 1, (int32_t)ret);
	dst[5] = 0xc7;
	dst[6] = 0x44;
	dst[7] = 0x24;
	dst[8] = 0x04;
	write_i32(dst + 9, (int32_t)(ret >> 32));
	return fib_insn_jmp(dst + 13, to + 13, target) < 0 ? -ERANGE : 18;
}

int fib_insn_move(const struct fib_insn *in, const uint8_t *src, uintptr_t from,
		  uint8_t *dst, uintptr_t to, size_t room)
{
	uintptr_t end = from + in->len;
	uintptr_t target = end + (uintptr_t)(intptr_t)in->rel;
	uint8_t out[FIB_INSN_MOVED_MAX];
	int n = in->len;

	for (int i = 0; i < in->len; i++)
		out[i] = src[i];

	switch (in->kind) {
	case FIB_INSN_JMP:
		n = fib_insn_jmp(out, to, target);
		break;
	case FIB_INSN_JCC:
		out[0] = 0x0f;
		out[1] = 0x80 | (in->opcode & 0x0f);
		n = put_rel(out + 2, to + 6, target) ? -ERANGE : 6;
		break;
	case FIB_INSN_CALL:
		n = move_call(out, to, end, target);
		break;
	case FIB_INSN_XBEGIN:
		if (put_rel(out + n - 4, to + (unsigned)n, target))
			return -ERANGE;
		break;
	case FIB_INSN_LOOP:
	case FIB_INSN_CALL_IND:
	case FIB_INSN_SYSCALL:
		return -ENOTSUP;
	default:
		if (!in->rip_off)
			break;
		target = end + (uintptr_t)(intptr_t)read_i32(src + in->rip_off);
		if (put_rel(out + in->rip_off, to + (unsigned)n, target))
			return -ERANGE;
	}
	if (n < 0)
		return n;
	if ((size_t)n > room)
		return -ENOSPC;
	for (int i = 0; i < n; i++)
		dst[i] = out[i];
	return n;
}
