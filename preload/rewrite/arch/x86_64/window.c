/*
 * One function, one syscall instruction: which bytes may be overwritten.
 *
 * A window is a run of whole instructions, at least five bytes, that contains
 * the syscall instruction. Nobody may jump into it but to its first byte; all
 * other instructions in it move to the slot. Forward windows (the syscall
 * and what follows) come first: their first bytes are the syscall, and what
 * returns from the kernel to the address after it finds the tail in the slot.
 * Where that fails, one or more instructions before the syscall are taken in.
 *
 * Jump targets are: targets of direct branches in the function, of calls in
 * it, entries of jump tables, landing pads, and what direct branches
 * of other functions reach (objects.c finds those). Windows
 * do not overlap, so the jump back from a slot is no concern.
 */
#include "preload/rewrite/internal.h"

#include <errno.h>
#include <string.h>

void fib_code_target(struct fib_code *code, uintptr_t addr)
{
	uintptr_t off = addr - code->addr;

	if (off <= code->len + code->pad)
		code->mark[off] |= FIB_MARK_TARGET;
}

static int32_t disp32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void add_lea(struct fib_code *code, uintptr_t addr)
{
	for (uint32_t i = 0; i < code->nleas; i++)
		if (code->leas[i] == addr)
			return;
	if (code->nleas < code->max_leas)
		code->leas[code->nleas++] = addr;
	else
		code->leas_lost = true;
}

static void note(struct fib_code *code, const struct fib_insn *in, uint32_t at)
{
	uintptr_t end = code->addr + at + in->len;

	switch (in->kind) {
	case FIB_INSN_JMP:
	case FIB_INSN_JCC:
	case FIB_INSN_LOOP:
	case FIB_INSN_XBEGIN:
	case FIB_INSN_CALL:
		fib_code_target(code, end + (uintptr_t)(intptr_t)in->rel);
		break;
	case FIB_INSN_JMP_IND:
		code->jumps_indirectly = true;
		if (in->abs_off) /* jmp *table(,%reg,8) */
			add_lea(code, (uintptr_t)(intptr_t)disp32(
					      code->bytes + at + in->abs_off));
		break;
	case FIB_INSN_PLAIN:
		if (in->map || in->vex || in->opcode != 0x8d || !in->rip_off)
			break;
		end += (uintptr_t)(intptr_t)disp32(code->bytes + at +
						   in->rip_off);
		/* The address of a label in here. */
		if (end - code->addr < code->len)
			fib_code_target(code, end);
		add_lea(code, end);
		break;
	}
}

void fib_code_mark(struct fib_code *code)
{
	struct fib_insn in;
	uint32_t at = 0;

	memset(code->mark, 0, code->len + code->pad + 1);
	code->jumps_indirectly = false;
	code->undecoded = code->leas_lost = false;
	code->nleas = 0;
	while (at < code->len) {
		if (!fib_insn_decode(code->bytes + at, code->len - at, &in)) {
			/* Data: what comes next may be reached from anywhere.
			 */
			at++;
			code->undecoded = true;
			fib_code_target(code, code->addr + at);
			continue;
		}
		code->mark[at] |= FIB_MARK_START;
		note(code, &in, at);
		at += in.len;
	}
}

void fib_code_table(struct fib_code *code, const uint8_t *table,
		    const uint8_t *table_end, int width, uintptr_t base,
		    uintptr_t text, uintptr_t text_end)
{
	for (; table + width <= table_end; table += width) {
		uintptr_t target;

		if (width == 8)
			memcpy(&target, table, 8);
		else
			target = base + (uintptr_t)(intptr_t)disp32(table);
		if (target < text || target >= text_end)
			return;
		fib_code_target(code, target);
	}
}

/* Whether it is known to leave rax alone. */
static bool spares_rax(const struct fib_insn *in)
{
	int reg = (in->modrm >> 3 & 7) | (in->rex & 4 ? 8 : 0);
	int rm = (in->modrm & 7) | (in->rex & 1 ? 8 : 0);
	bool rm_is_rax = in->has_modrm && in->modrm >= 0xc0 && rm == 0;
	int op = in->opcode;

	if (in->kind == FIB_INSN_NOP)
		return true;
	if (in->kind != FIB_INSN_PLAIN || in->vex || in->map)
		return false;
	if (op >= 0x50 && op <= 0x57) /* push */
		return true;
	if ((op >= 0x58 && op <= 0x5f) || (op >= 0xb8 && op <= 0xbf))
		return (op & 7) || (in->rex & 1);
	switch (op) {
	case 0x38:
	case 0x39:
	case 0x3a:
	case 0x3b: /* cmp */
	case 0x84:
	case 0x85: /* test */
		return true;
	case 0x01:
	case 0x09:
	case 0x21:
	case 0x29:
	case 0x31:
	case 0x88:
	case 0x89:
	case 0xc6:
	case 0xc7:
	case 0x83:
	case 0x81:
		return !rm_is_rax;
	case 0x03:
	case 0x0b:
	case 0x23:
	case 0x2b:
	case 0x33:
	case 0x63:
	case 0x8a:
	case 0x8b:
	case 0x8d:
		return reg != 0;
	default:
		return false;
	}
}

/* Whether this sets eax to a number that can be read off. */
static bool sets_rax(const struct fib_insn *in, const uint8_t *p, long *nr)
{
	if (in->kind != FIB_INSN_PLAIN || in->vex || in->map || (in->rex & 5))
		return false;
	if (in->opcode == 0xb8 && in->len - (in->rex != 0) == 5) {
		*nr = disp32(p + in->len - 4);
		return true;
	}
	if (in->opcode == 0xc7 && in->modrm == 0xc0 &&
	    in->len - (in->rex != 0) == 6) {
		*nr = disp32(p + in->len - 4);
		return true;
	}
	if ((in->opcode == 0x31 || in->opcode == 0x33) && in->modrm == 0xc0) {
		*nr = 0;
		return true;
	}
	return false;
}

/* The start of the instruction before the one at `at`, or -1. */
static long before(const struct fib_code *code, uint32_t at)
{
	for (uint32_t i = at; i-- > 0;)
		if (code->mark[i] & FIB_MARK_START)
			return at - i <= FIB_INSN_MAX ? (long)i : -1;
	return -1;
}

long fib_code_number(const struct fib_code *code, uint32_t at)
{
	for (int i = 0; i < 24; i++) {
		struct fib_insn in;
		long prev, nr;

		if (code->mark[at] & FIB_MARK_TARGET)
			return -1;
		prev = before(code, at);
		if (prev < 0)
			return -1;
		at = (uint32_t)prev;
		if (!fib_insn_decode(code->bytes + at, code->len - at, &in))
			return -1;
		if (sets_rax(&in, code->bytes + at, &nr))
			return nr;
		/* push imm8; pop %rax */
		if (in.opcode == 0x58 && !in.map && !in.vex && !in.rex &&
		    in.len == 1 && at >= 2 && code->bytes[at - 2] == 0x6a &&
		    (code->mark[at - 2] & FIB_MARK_START) &&
		    !(code->mark[at] & FIB_MARK_TARGET))
			return (int8_t)code->bytes[at - 1];
		if (!spares_rax(&in))
			return -1;
	}
	return -1;
}

/* Places the instruction at offset `at` of the function at *to. */
static int place(struct fib_code *code, struct fib_site *site, uint32_t at,
		 const struct fib_insn *in, uint32_t *to, uint32_t end)
{
	uint8_t body[FIB_INSN_MOVED_MAX];
	int n;

	n = fib_insn_move(in, code->bytes + at, code->addr + at, body,
			  site->block + *to, end - *to);
	if (n < 0)
		return n;
	memcpy(site->body + *to, body, (size_t)n);
	*to += (uint32_t)n;
	return 0;
}

/* Instructions start .. at, which end where the core begins. */
static int place_head(struct fib_code *code, struct fib_site *site,
		      uint32_t start, uint32_t at)
{
	struct fib_insn in;
	uint32_t to = FIB_SLOT_HEAD, cur;

	/* Once to learn the length, once at the right place. */
	for (int pass = 0; pass < 2; pass++) {
		site->entry = (uint8_t)to;
		for (cur = start; cur < at; cur += in.len) {
			int err;

			if (!fib_insn_decode(code->bytes + cur, at - cur, &in))
				return -ENOENT;
			if (in.kind == FIB_INSN_CALL || fib_insn_ends(&in) ||
			    in.kind == FIB_INSN_XBEGIN)
				return -ENOENT;
			err = place(code, site, cur, &in, &to, FIB_SLOT_CORE);
			if (err)
				return err;
		}
		if (pass == 0)
			to = FIB_SLOT_HEAD + FIB_SLOT_CORE - to;
	}
	return 0;
}

/*
 * Instructions from the syscall on, until the window has its five bytes.
 * Returns the end of the window.
 */
static int place_tail(struct fib_code *code, struct fib_site *site,
		      uint32_t start, uint32_t at)
{
	uint32_t cur = at + 2, to = FIB_SLOT_TAIL;
	uint32_t limit = code->len + code->pad;
	struct fib_insn in;
	bool ended = false;
	int err;

	while (cur - start < FIB_WINDOW_MIN) {
		if (cur >= limit)
			return -ENOENT;
		if (!fib_insn_decode(code->bytes + cur, limit - cur, &in))
			return -ENOENT;
		/* Behind a ret only padding is known to be dead. */
		if ((ended || cur >= code->len) && in.kind != FIB_INSN_NOP)
			return -ENOENT;
		if (!ended) {
			err = place(code, site, cur, &in, &to, FIB_SLOT_SIZE);
			if (err)
				return err;
			ended = fib_insn_ends(&in) || in.kind == FIB_INSN_CALL;
		}
		cur += in.len;
	}
	if (cur - start > FIB_WINDOW_MAX)
		return -ENOENT;
	if (!ended) {
		if (to + 5 > FIB_SLOT_SIZE)
			return -ENOSPC;
		err = fib_insn_jmp(site->body + to, site->block + to,
				   code->addr + cur);
		if (err < 0)
			return err;
		to += 5;
	}
	site->ntail = (uint8_t)(to - FIB_SLOT_TAIL);
	return (int)cur;
}

/* No one may arrive in the middle, and no other window may be there. */
static bool is_free(const struct fib_code *code, uint32_t start, uint32_t end)
{
	for (uint32_t i = start; i < end; i++)
		if ((code->mark[i] & FIB_MARK_CLAIMED) ||
		    (i > start && (code->mark[i] & FIB_MARK_TARGET)))
			return false;
	return true;
}

/* Takes the window from start to end. */
static int claim(struct fib_code *code, uint32_t start, uint32_t end,
		 uintptr_t to, struct fib_site *site)
{
	if (fib_insn_jmp(site->new, code->addr + start, to) < 0)
		return -ERANGE;
	site->len = (uint8_t)(end - start);
	memcpy(site->old, code->bytes + start, site->len);
	memset(site->new + FIB_WINDOW_MIN, 0xcc,
	       (size_t)site->len - FIB_WINDOW_MIN);
	for (uint32_t i = start; i < end; i++)
		code->mark[i] |= FIB_MARK_CLAIMED;
	return 0;
}

static int try_window(struct fib_code *code, uint32_t start, uint32_t at,
		      struct fib_site *site)
{
	int end, err;

	memset(site->body, 0xcc, sizeof(site->body));
	site->start = code->addr + start;
	err = place_head(code, site, start, at);
	if (err)
		return err;
	end = place_tail(code, site, start, at);
	if (end < 0)
		return end;
	if (!is_free(code, start, (uint32_t)end))
		return -ENOENT;
	return claim(code, start, (uint32_t)end, site->block + site->entry,
		     site);
}

int fib_window_at(struct fib_code *code, uint32_t start, uint32_t at,
		  uintptr_t slot, uintptr_t block, struct fib_site *site)
{
	uintptr_t after = code->addr + at + 2;
	int err;

	site->insn = code->addr + at;
	site->slot = slot;
	site->block = block;
	err = try_window(code, start, at, site);
	if (err)
		return err;
	memcpy(site->body, &after, sizeof(after));
	if (block != slot)
		fib_insn_jmp_far(site->body + FIB_SLOT_CORE,
				 slot + FIB_SLOT_CORE);
	return 0;
}

int fib_window_choose(struct fib_code *code, uint32_t at, uintptr_t slot,
		      uintptr_t block, struct fib_site *site)
{
	uint32_t start = at;
	int err, worst = -ENOENT;

	for (;;) {
		long prev;

		err = fib_window_at(code, start, at, slot, block, site);
		if (!err)
			return 0;
		if (err == -ERANGE)
			worst = err;
		prev = before(code, start);
		if (prev < 0 || (code->mark[start] & FIB_MARK_TARGET) ||
		    at - (uint32_t)prev > FIB_SLOT_CORE - FIB_SLOT_HEAD)
			return worst;
		start = (uint32_t)prev;
	}
}

int fib_window_entry(struct fib_code *code, uint32_t at, uintptr_t to,
		     struct fib_site *site)
{
	uint32_t end = 0, limit = code->len + code->pad;
	struct fib_insn in;

	site->slot = site->block = 0;
	site->start = code->addr;
	site->insn = code->addr + at;
	while (end < FIB_WINDOW_MIN) {
		if (!fib_insn_decode(code->bytes + end, limit - end, &in))
			return -ENOENT;
		end += in.len;
	}
	if (!is_free(code, 0, end))
		return -ENOENT;
	return claim(code, 0, end, to, site);
}
