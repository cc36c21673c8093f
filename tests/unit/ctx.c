/* The context switch: what it keeps and where it starts. */
#include "ctx_arch.h"
#include "ctx_inline_arch.h"
#include "tests/unit/unit.h"

static void *here, *there;
static char stack[UNIT_STACK] __attribute__((aligned(64)));

static uint32_t get_mxcsr(void)
{
	uint32_t v;

	__asm__ volatile("stmxcsr %0" : "=m"(v));
	return v;
}

static void set_mxcsr(uint32_t v)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(v));
}

static uint16_t get_x87cw(void)
{
	uint16_t v;

	__asm__ volatile("fnstcw %0" : "=m"(v));
	return v;
}

static void set_x87cw(uint16_t v)
{
	__asm__ volatile("fldcw %0" : : "m"(v));
}

/* The flags of past exceptions, of the x87. */
static unsigned get_x87_flags(void)
{
	uint16_t v;

	__asm__ volatile("fnstsw %0" : "=m"(v));
	return v & 0x3f;
}

static void set_x87_flags(unsigned flags)
{
	uint32_t env[7];

	__asm__ volatile("fnstenv %0" : "=m"(env));
	env[1] = (env[1] & ~0xffu) | flags;
	__asm__ volatile("fldenv %0" : : "m"(env));
}

/* Spoils all that a callee has to keep, and switches back. */
static void spoil(void *arg)
{
	for (;;) {
		set_mxcsr(0x3f80);
		set_x87cw(0x77f);
		set_x87_flags(0x24);
		__asm__ volatile("movq $-1, %%rbx\n\tmovq $-2, %%r12\n\t"
				 "movq $-3, %%r13\n\tmovq $-4, %%r14\n\t"
				 "movq $-5, %%r15"
				 :
				 :
				 : "rbx", "r12", "r13", "r14", "r15");
		fib_ctx_switch(&there, here);
	}
}

START_TEST(keeps_registers)
{
	uint64_t got[6] = { 0 };

	there = fib_ctx_make(stack + sizeof(stack), spoil, NULL);
	for (int round = 0; round < 3; round++) {
		memset(got, 0, sizeof(got));
		__asm__ volatile(
			"subq $128, %%rsp\n\t"
			"pushq %%rbp\n\t"
			"pushq %[got]\n\t"
			"movq $11, %%rbx\n\tmovq $12, %%r12\n\t"
			"movq $13, %%r13\n\tmovq $14, %%r14\n\t"
			"movq $15, %%r15\n\tmovq $16, %%rbp\n\t"
			"call fib_ctx_switch\n\t"
			"popq %%rax\n\t"
			"movq %%rbx, 0(%%rax)\n\tmovq %%r12, 8(%%rax)\n\t"
			"movq %%r13, 16(%%rax)\n\tmovq %%r14, 24(%%rax)\n\t"
			"movq %%r15, 32(%%rax)\n\tmovq %%rbp, 40(%%rax)\n\t"
			"popq %%rbp\n\t"
			"addq $128, %%rsp"
			:
			: [got] "a"(got), "D"(&here), "S"(there)
			: "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12",
			  "r13", "r14", "r15", "memory", "cc");
		for (int i = 0; i < 6; i++)
			ck_assert_uint_eq(got[i], (uint64_t)(11 + i));
	}
}
END_TEST

START_TEST(keeps_control_words)
{
	there = fib_ctx_make(stack + sizeof(stack), spoil, NULL);
	set_mxcsr(0x7f80); /* toward zero */
	set_x87cw(0x27f);  /* double precision */
	set_x87_flags(0x11);
	fib_ctx_switch(&here, there);
	ck_assert_uint_eq(get_mxcsr(), 0x7f80);
	ck_assert_uint_eq(get_x87cw(), 0x27f);
	ck_assert_uint_eq(get_x87_flags(), 0x11);
	fib_ctx_switch(&here, there);
	ck_assert_uint_eq(get_mxcsr(), 0x7f80);
	ck_assert_uint_eq(get_x87cw(), 0x27f);
}
END_TEST

/* The same of the one without a call, to and from the other. */
START_TEST(inline_keeps_all)
{
	volatile uint64_t in = 11;
	uint64_t v[5];

	there = fib_ctx_make(stack + sizeof(stack), spoil, NULL);
	set_mxcsr(0x7f80);
	set_x87cw(0x27f);
	for (int round = 0; round < 3; round++) {
		register uint64_t rbx __asm__("rbx") = in;
		register uint64_t r12 __asm__("r12") = in + 1;
		register uint64_t r13 __asm__("r13") = in + 2;
		register uint64_t r14 __asm__("r14") = in + 3;
		register uint64_t r15 __asm__("r15") = in + 4;

		__asm__ volatile(""
				 : "+r"(rbx), "+r"(r12), "+r"(r13), "+r"(r14),
				   "+r"(r15));
		fib_ctx_switch_inline(&here, there);
		__asm__ volatile(""
				 : "+r"(rbx), "+r"(r12), "+r"(r13), "+r"(r14),
				   "+r"(r15));
		v[0] = rbx;
		v[1] = r12;
		v[2] = r13;
		v[3] = r14;
		v[4] = r15;
		for (unsigned i = 0; i < 5; i++)
			ck_assert_uint_eq(v[i], 11 + i);
		ck_assert_uint_eq(get_mxcsr() & ~0x3fu, 0x7f80);
		ck_assert_uint_eq(get_x87cw(), 0x27f);
	}
	set_x87_flags(0);
}
END_TEST

/*
 * A worker that goes from one fiber to the other: each has its modes and flags, and
 * what it keeps in callee-saved registers.
 */
static const struct {
	uint32_t mxcsr;
	uint16_t x87cw;
	unsigned flags;
} modes[] = {
	{ 0x1f80, 0x37f, 0 },	 { 0x7f80, 0x37f, 0 },
	{ 0x7fa0, 0x27f, 0 },	 { 0x7fa0, 0x27f, 0x20 },
	{ 0x7fa0, 0x27f, 0x11 }, { 0x1f81, 0x37f, 0x11 },
};
static void *left_at[FIB_ARRAY_SIZE(modes)];
static uint64_t floats;
static unsigned wrong;

static __attribute__((noinline)) void leave(unsigned i)
{
	fib_ctx_leave(&left_at[i], here, &floats);
}

static __attribute__((noinline)) void resume(unsigned i)
{
	fib_ctx_resume(&here, left_at[i], &floats);
}

static void turn(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (uint64_t n = 0;; n++) {
		register uint64_t rbx __asm__("rbx") = i + n;
		register uint64_t r15 __asm__("r15") = i * n;

		set_mxcsr(modes[i].mxcsr);
		set_x87cw(modes[i].x87cw);
		set_x87_flags(modes[i].flags);
		__asm__ volatile("" : "+r"(rbx), "+r"(r15));
		leave(i);
		__asm__ volatile("" : "+r"(rbx), "+r"(r15));
		wrong += rbx != i + n || r15 != i * n;
		wrong += get_mxcsr() != modes[i].mxcsr;
		wrong += get_x87cw() != modes[i].x87cw;
		wrong += get_x87_flags() != modes[i].flags;
	}
}

START_TEST(worker_keeps_floating)
{
	const size_t room = sizeof(stack) / FIB_ARRAY_SIZE(modes);
	uint64_t mine = fib_ctx_floats();

	for (unsigned i = 0; i < FIB_ARRAY_SIZE(modes); i++)
		left_at[i] = fib_ctx_make(stack + (i + 1) * room, turn,
					  (void *)(uintptr_t)i);
	floats = mine;
	wrong = 0;
	/* Each after each. */
	for (unsigned n = 0; n < FIB_ARRAY_SIZE(modes); n++)
		for (unsigned i = 0; i < FIB_ARRAY_SIZE(modes); i++) {
			resume(i);
			ck_assert_uint_eq(get_mxcsr(), modes[i].mxcsr);
			resume((i + n) % FIB_ARRAY_SIZE(modes));
		}
	fib_ctx_floats_set(mine, floats);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq((fib_ctx_floats() ^ mine) << 10, 0);
	ck_assert_uint_eq(get_mxcsr(), 0x1f80);
}
END_TEST

/* What is made begins as its maker is. */
static void tell_floating(void *arg)
{
	uint32_t *told = arg;

	told[0] = get_mxcsr();
	told[1] = get_x87cw();
	told[2] = get_x87_flags();
	fib_ctx_switch(&there, here);
}

START_TEST(inherits_floating)
{
	uint32_t told[3];

	there = fib_ctx_make(stack + sizeof(stack), tell_floating, told);
	set_mxcsr(0x7f80);
	set_x87cw(0x27f);
	set_x87_flags(0x11);
	fib_ctx_inherit(there);
	set_mxcsr(0x1f80);
	set_x87cw(0x37f);
	set_x87_flags(0);
	fib_ctx_switch(&here, there);
	ck_assert_uint_eq(told[0], 0x7f80);
	ck_assert_uint_eq(told[1], 0x27f);
	ck_assert_uint_eq(told[2], 0x11);
	ck_assert_uint_eq(get_mxcsr(), 0x1f80);
	ck_assert_uint_eq(get_x87cw(), 0x37f);
	ck_assert_uint_eq(get_x87_flags(), 0);
}
END_TEST

static struct {
	void *arg;
	uintptr_t frame;
	uint32_t mxcsr;
	uint16_t x87cw;
} seen;

static void look(void *arg)
{
	seen.arg = arg;
	seen.frame = (uintptr_t)__builtin_frame_address(0);
	seen.mxcsr = get_mxcsr();
	seen.x87cw = get_x87cw();
	fib_ctx_switch(&there, here);
}

START_TEST(starts_afresh)
{
	set_mxcsr(0x7f80);
	set_x87cw(0x27f);
	/* any top will do: it is aligned as the ABI wants it */
	there = fib_ctx_make(stack + sizeof(stack) - 3, look, &seen);
	fib_ctx_switch(&here, there);
	ck_assert_ptr_eq(seen.arg, &seen);
	ck_assert_uint_eq(seen.frame % 16, 0);
	ck_assert(seen.frame > (uintptr_t)stack &&
		  seen.frame < (uintptr_t)stack + sizeof(stack));
	ck_assert_uint_eq(seen.mxcsr, 0x1f80);
	ck_assert_uint_eq(seen.x87cw, 0x37f);
	ck_assert_uint_eq(get_mxcsr(), 0x7f80);
}
END_TEST

static void keeps(enum fib_vectors which)
{
	static char area[16384] __attribute__((aligned(64)));
	uint64_t in[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	uint64_t out[2] = { 0 };
	enum fib_vectors had;

	ck_assert_uint_eq(fib_xsave_room(which) % 64, 0);
	ck_assert_uint_le(fib_xsave_room(which), sizeof(area));
	memset(area, 0xa5, sizeof(area));
	__asm__ volatile("movdqu %0, %%xmm15\n\tfld1" : : "m"(in) : "xmm15");
	had = fib_xsave(area, which);
	__asm__ volatile("pxor %%xmm15, %%xmm15\n\tfstp %%st(0)" ::: "xmm15");
	fib_xrstor(area, which);
	__asm__ volatile("movdqu %%xmm15, %0" : "=m"(out));
	ck_assert_int_eq(had, which);
	ck_assert_uint_eq(out[0], in[0]);
	ck_assert_uint_eq(out[1], in[1]);
	__asm__ volatile("fstpl %0" : "=m"(out[0]));
	ck_assert_uint_eq(out[0], 0x3ff0000000000000);
	for (size_t i = fib_xsave_room(which); i < sizeof(area); i++)
		ck_assert_int_eq(area[i], (char)0xa5);
}

/* All of them, from @at or to it. */
static void move_sse(uint64_t at[16][2], bool load)
{
#define EACH(x)                                                                \
	x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12)    \
		x(13) x(14) x(15)
#define LOAD(i)	 "movaps 16*" #i "(%0), %%xmm" #i "\n\t"
#define STORE(i) "movaps %%xmm" #i ", 16*" #i "(%0)\n\t"
	if (load)
		__asm__ volatile(EACH(LOAD) : : "r"(at) : "memory");
	else
		__asm__ volatile(EACH(STORE) : : "r"(at) : "memory");
}

/* No x87 register is in use: SSE's are what is kept, each in its place. */
static void keeps_sse(void)
{
	static char area[FIB_XSAVE_BASELINE + 64] __attribute__((aligned(64)));
	static uint64_t in[16][2] __attribute__((aligned(16)));
	static uint64_t out[16][2] __attribute__((aligned(16)));
	static uint64_t zero[16][2] __attribute__((aligned(16)));
	unsigned short status = 0;
	enum fib_vectors which;

	for (unsigned i = 0; i < 32; i++)
		in[i / 2][i % 2] = (i + 1) * 0x9e3779b97f4a7c15;
	memset(area, 0xa5, sizeof(area));
	__asm__ volatile("fninit");
	move_sse(in, true);
	which = fib_xsave(area, FIB_VECTORS_BASELINE);
	move_sse(zero, true);
	fib_xrstor(area, which);
	move_sse(out, false);
	ck_assert_int_eq(which, FIB_VECTORS_SSE);
	__asm__ volatile("fnstsw %0" : "=m"(status));
	ck_assert_mem_eq(in, out, sizeof(in));
	ck_assert_uint_eq(status & 0x3f, 0);
	for (size_t i = FIB_XSAVE_BASELINE; i < sizeof(area); i++)
		ck_assert_int_eq(area[i], (char)0xa5);
}

START_TEST(keeps_vectors)
{
	fib_xsave_init();
	ck_assert_uint_ge(fib_xsave_size, FIB_XSAVE_BASELINE);
	keeps(FIB_VECTORS_ALL);
	keeps(FIB_VECTORS_BASELINE);
	keeps_sse();
}
END_TEST

/* It lies on stacks of 16 KB: no room for what the CPU has beside (AMX). */
START_TEST(vectors_are_small)
{
	fib_xsave_init();
	ck_assert_uint_le(fib_xsave_size,
			  576 + 256 + 64 + 512 + 1024 + 128 + 63);
}
END_TEST

TCase *unit_ctx(void)
{
	TCase *t = tcase_create("ctx");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, keeps_registers);
	tcase_add_test(t, keeps_control_words);
	tcase_add_test(t, inline_keeps_all);
	tcase_add_test(t, worker_keeps_floating);
	tcase_add_test(t, inherits_floating);
	tcase_add_test(t, starts_afresh);
	tcase_add_test(t, keeps_vectors);
	tcase_add_test(t, vectors_are_small);
	return t;
}
