/*
 * Golden tests of windows: a function's bytes in, the window and the bytes of
 * the slot out; or the refusal. The function runs at CODE, the slot is
 * at SLOT unless the case says otherwise. One line per case.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "preload/rewrite/internal.h"

#define CODE 0x7f1210000000UL
#define SLOT 0x7f1220000000UL

struct window_case {
	const char *name;
	const char *bytes; /* hex; the first 0f05 marked by | is the site */
	uintptr_t slot;	   /* 0: SLOT */
	int target;	   /* offset of one more jump target, or -1 */
	uint32_t pad;	   /* the last so many bytes are padding */
	int err;
	int start, len;	  /* of the window */
	const char *head; /* of the slot, right before the core */
	const char *tail;
};

static const struct window_case cases[] = {
	{ "forward, cmp", "b800000000|0f05483d00f0ffff7710c3", 0, -1, 0, 0, 5,
	  8, "", "483d00f0ffff e9d6ffffef" },
	/* je +2 to c3: from 0x20000034 to 0x1000000a */
	{ "forward, short jcc becomes near", "|0f0585c074049090909090c3", 0, -1,
	  0, 0, 0, 6, "", "85c0 0f84d6ffffef e9cdffffef" },
	{ "forward, near jcc is moved", "|0f0585c00f84000000009090c3", 0, -1, 0,
	  0, 0, 10, "", "85c0 0f84d6ffffef e9d1ffffef" },
	{ "forward, short jmp ends it", "|0f05eb0190c3", 0, -1, 0, 0, 0, 5, "",
	  "e9d4ffffef" },
	{ "forward, ret and padding", "|0f05c366900f1f00", 0, -1, 5, 0, 0, 5,
	  "", "c3" },
	{ "ret and code is no window", "|0f05c34889d8c3", 0, -1, 0, -ENOENT },
	{ "forward, RIP-relative store", "|0f05488905f700000090c3", 0, -1, 0, 0,
	  0, 9, "", "488905cd0000f0 e9d1ffffef" },
	{ "forward, RIP-relative with immediate", "|0f05c705f600000001000000c3",
	  0, -1, 0, 0, 0, 12, "", "c705cc0000f001000000 e9d1ffffef" },
	{ "RIP-relative does not reach", "|0f05488905000000809090c3", 0, -1, 0,
	  -ERANGE },
	{ "slot is too far", "|0f05483d00f0ffffc3", 0x7f1410000000UL, -1, 0,
	  -ERANGE },
	{ "forward, call", "|0f05e8f4000000c3", 0, -1, 0, 0, 0, 7, "",
	  "6807000010 c7442404127f0000 e9bd0000f0" },
	{ "forward, indirect jump", "|0f0541ffe390c3", 0, -1, 0, 0, 0, 5, "",
	  "41ffe3" },
	{ "forward, indirect call is refused", "|0f0541ffd390c3", 0, -1, 0,
	  -ENOENT },
	{ "loop is refused", "|0f05e2fe9090c3", 0, -1, 0, -ENOENT },
	{ "second syscall is refused", "|0f050f0585c0c3", 0, -1, 0, -ENOENT },
	{ "second syscall behind makes it backward",
	  "b801000000|0f050f0585c0c3", 0, -1, 0, 0, 0, 7, "b801000000",
	  "e9d6ffffef" },
	{ "xbegin is moved", "|0f05c7f802000000c3c3c3", 0, -1, 0, 0, 0, 8, "",
	  "c7f8d8ffffef e9d1ffffef" },
	{ "tail that fills the slot", "|0f0585c0 2e2e2e2e2e2e81040c00000000c3",
	  0, -1, 0, 0, 0, 17, "", "85c02e2e2e2e2e2e81040c00000000 e9d1ffffef" },
	{ "tail that leaves no room to return",
	  "|0f0585c0 2e2e2e2e2e2e2e81040c00000000c3", 0, -1, 0, -ENOENT },
	{ "backward, target after the syscall", "b827000000|0f05483d00f0ffffc3",
	  0, 7, 0, 0, 0, 7, "b827000000", "e9d6ffffef" },
	{ "target inside an instruction", "b827000000|0f05483d00f0ffffc3", 0,
	  10, 0, 0, 0, 7, "b827000000", "e9d6ffffef" },
	{ "backward, target in the tail", "b827000000|0f0585c085c0c3", 0, 9, 0,
	  0, 0, 7, "b827000000", "e9d6ffffef" },
	{ "backward, two instructions", "89c789fe|0f0585c0c3", 0, 6, 0, 0, 0, 6,
	  "89c789fe", "e9d5ffffef" },
	{ "both sides", "89c7|0f05f7d85bc3", 0, 6, 0, 0, 0, 6, "89c7",
	  "f7d8 e9d3ffffef" },
	{ "backward, RIP-relative load", "488b3df9000000|0f0585c0c3", 0, 9, 0,
	  0, 0, 9, "488b3dec0000f0", "e9d8ffffef" },
	{ "backward, short jcc", "85c07504|0f0585c0c3", 0, 6, 0, 0, 0, 6,
	  "85c0 0f85f4ffffef", "e9d5ffffef" },
	{ "target at the syscall and behind", "b827000000|0f0585c085c0c3", 0,
	  -57, 0, -ENOENT },
	{ "backward never takes a call", "e800000000|0f05c34889d8", 0, -1, 0,
	  -ENOENT },
	{ "branch in the function into the window",
	  "|0f05483d00f0ffff 85c0 74f6c3", 0, -1, 0, -ENOENT },
	{ "branch to the first byte is fine", "|0f05483d00f0ffff 85c0 74f4c3",
	  0, -1, 0, 0, 0, 8, "", "483d00f0ffff e9d1ffffef" },
	{ "lea of a label is a target", "|0f05483d00f0ffff 488d05f1ffffff ffe0",
	  0, -1, 0, 0, 0, 8, "", "483d00f0ffff e9d1ffffef" },
};

static int hex(const char *s, uint8_t *out, int *mark)
{
	int n = 0;

	for (; *s; s++) {
		unsigned v;

		if (*s == '|' && mark)
			*mark = n;
		if (*s == '|' || *s == ' ')
			continue;
		if (sscanf(s, "%2x", &v) != 1)
			return -1;
		out[n++] = (uint8_t)v;
		s++;
	}
	return n;
}

static void print(const char *what, const uint8_t *p, int n)
{
	printf("  %s", what);
	for (int i = 0; i < n; i++)
		printf(" %02x", p[i]);
	printf("\n");
}

static int same(const char *what, const uint8_t *got, int ngot,
		const char *want)
{
	uint8_t bytes[64];
	int n = hex(want, bytes, NULL);

	if (n == ngot && !memcmp(got, bytes, (size_t)n))
		return 1;
	print(what, got, ngot);
	print("wanted:", bytes, n);
	return 0;
}

/* All that the site says of itself agrees with the bytes. */
static int consistent(const struct fib_site *s, const uint8_t *bytes)
{
	uint64_t x;
	int32_t rel;

	memcpy(&x, s->body, 8);
	memcpy(&rel, s->new + 1, 4);
	return x == s->insn + 2 && s->new[0] == 0xe9 &&
	       s->start + 5 + (uintptr_t)(intptr_t)rel == s->slot + s->entry &&
	       !memcmp(s->old, bytes + (s->start - CODE), s->len);
}

static int run(const struct window_case *c)
{
	uint8_t bytes[128] = { 0 }, mark[128];
	int at = 0, n = hex(c->bytes, bytes, &at), err, ok = 1;
	struct fib_code code = { bytes, CODE, (uint32_t)n - c->pad, c->pad,
				 mark };
	uintptr_t slot = c->slot ? c->slot : SLOT;
	struct fib_site s = { 0 };

	fib_code_mark(&code);
	if (c->target >= 0)
		fib_code_target(&code, CODE + (unsigned)c->target);
	if (c->target == -57) {
		fib_code_target(&code, CODE + 5);
		fib_code_target(&code, CODE + 7);
	}
	err = fib_window_choose(&code, (uint32_t)at, slot, slot, &s);
	if (err != c->err) {
		printf("  returned %d, wanted %d\n", err, c->err);
		return 0;
	}
	if (err)
		return 1;
	if ((int)(s.start - CODE) != c->start || s.len != c->len) {
		printf("  window %d+%d, wanted %d+%d\n", (int)(s.start - CODE),
		       s.len, c->start, c->len);
		ok = 0;
	}
	ok &= same("head:", s.body + s.entry, FIB_SLOT_CORE - s.entry, c->head);
	ok &= same("tail:", s.body + FIB_SLOT_TAIL, s.ntail, c->tail);
	if (!consistent(&s, bytes)) {
		printf("  window, slot and X do not agree\n");
		ok = 0;
	}
	return ok;
}

/* Two sites: the second may neither overlap the first nor trap its return. */
static int neighbours(void)
{
	/* mov; syscall; mov %eax,%ebx; xor %edi,%edi; syscall; ret; more */
	uint8_t bytes[64], mark[64];
	int n = hex("b801000000 0f05 89c3 31c0 0f05 c3 4889d8c3", bytes, NULL);
	struct fib_code code = { bytes, CODE, (uint32_t)n, 0, mark };
	struct fib_site a = { 0 }, b = { 0 };

	fib_code_mark(&code);
	return !fib_window_choose(&code, 5, SLOT, SLOT, &a) && a.len == 6 &&
	       fib_window_choose(&code, 11, SLOT + 64, SLOT + 64, &b) ==
		       -ENOENT;
}

static int jump_table(void)
{
	uint8_t bytes[64], mark[64];
	int n = hex("0f05 85c0 85c0 c3", bytes, NULL);
	struct fib_code code = { bytes, CODE, (uint32_t)n, 0, mark };
	int32_t table[] = { 6, 4, -8, 2 };
	uintptr_t addrs[] = { CODE + 1, 0, CODE + 3 };

	fib_code_mark(&code);
	fib_code_table(&code, (uint8_t *)table, (uint8_t *)(table + 4), 4, CODE,
		       CODE, CODE + 7);
	fib_code_table(&code, (uint8_t *)addrs, (uint8_t *)(addrs + 3), 8, 0,
		       CODE, CODE + 7);
	return (mark[6] & FIB_MARK_TARGET) && (mark[4] & FIB_MARK_TARGET) &&
	       !(mark[2] & FIB_MARK_TARGET) && (mark[1] & FIB_MARK_TARGET) &&
	       !(mark[3] & FIB_MARK_TARGET);
}

static int entry(void)
{
	uint8_t bytes[64], mark[64];
	int n = hex("5f b83a000000 0f05 57 3d01f0ffff 7301 c3", bytes, NULL);
	struct fib_code code = { bytes, CODE, (uint32_t)n, 0, mark };
	struct fib_site s = { 0 };
	static const uint8_t want[] = { 0xe9, 0xfb, 0xff, 0xff, 0x0f, 0xcc };

	fib_code_mark(&code);
	return !fib_window_entry(&code, 6, SLOT, &s) && s.len == 6 && !s.slot &&
	       !memcmp(s.new, want, 6);
}

static int numbers(void)
{
	static const struct {
		const char *bytes;
		long nr;
	} list[] = {
		{ "b8ca000000 |0f05", 202 },
		{ "48c7c0ca000000 |0f05", 202 },
		{ "31c0 |0f05", 0 },
		{ "6a3858 |0f05", 56 },
		{ "b8ca000000 4989ca 31f6 bf01000000 |0f05", 202 },
		{ "b8ca000000 e800000000 |0f05", -1 },
		{ "b8ca000000 89c8 |0f05", -1 },
		{ "b8ca000000 8b07 |0f05", -1 },
		{ "b8ca000000 ffc0 |0f05", -1 },
		{ "89f8 |0f05", -1 },
		{ "41b8ca000000 |0f05", -1 },
		{ "b8ca000000 31c9 |0f05 75fa", -1 }, /* a loop to 31c9+2 */
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		uint8_t bytes[64], mark[64];
		int at, n = hex(list[i].bytes, bytes, &at);
		struct fib_code code = { bytes, CODE, (uint32_t)n, 0, mark };
		long nr;

		fib_code_mark(&code);
		nr = fib_code_number(&code, (uint32_t)at);
		if (nr == list[i].nr)
			continue;
		printf("  %s: %ld, wanted %ld\n", list[i].bytes, nr,
		       list[i].nr);
		return 0;
	}
	return 1;
}

static int failed;

static void tell(const char *name, int ok)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", name);
	failed |= !ok;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		tell(cases[i].name, run(&cases[i]));
	tell("windows do not overlap", neighbours());
	tell("jump tables", jump_table());
	tell("entry of vfork", entry());
	tell("numbers", numbers());
	return failed;
}
