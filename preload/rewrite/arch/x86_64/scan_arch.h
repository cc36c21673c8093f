/* What the rewriter looks for in bytes that it does not decode. */
#ifndef FIB_SCAN_ARCH_H
#define FIB_SCAN_ARCH_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The next bytes that may be a syscall instruction, 0f 05, or NULL. */
static inline const uint8_t *fib_scan_syscall(const uint8_t *p,
					      const uint8_t *end)
{
	for (p++; p < end; p++) {
		p = memchr(p, 0x05, (size_t)(end - p));
		if (!p)
			break;
		if (p[-1] == 0x0f)
			return p - 1;
	}
	return NULL;
}

/**
 * The next bytes that may be a syscall instruction, or the opcode of one that sets
 * the host register: 0f 05, 0f ae; or NULL.
 */
static inline const uint8_t *fib_scan_code(const uint8_t *p, const uint8_t *end)
{
	const __m128i escape = _mm_set1_epi8(0x0f), sys = _mm_set1_epi8(0x05),
		      group = _mm_set1_epi8((char)0xae);

	for (; end - p > 16; p += 16) {
		__m128i a = _mm_loadu_si128((const __m128i *)p);
		__m128i b = _mm_loadu_si128((const __m128i *)(p + 1));
		__m128i hit =
			_mm_and_si128(_mm_cmpeq_epi8(a, escape),
				      _mm_or_si128(_mm_cmpeq_epi8(b, sys),
						   _mm_cmpeq_epi8(b, group)));
		int found = _mm_movemask_epi8(hit);

		if (found)
			return p + __builtin_ctz((unsigned)found);
	}
	for (; end - p > 1; p++)
		if (p[0] == 0x0f && (p[1] == 0x05 || p[1] == 0xae))
			return p;
	return NULL;
}

/** Which of the two. */
static inline bool fib_is_syscall(const uint8_t *p)
{
	return p[1] == 0x05;
}

/**
 * wrgsbase, by its opcode at p: f3, perhaps REX, 0f ae, and /3 with a register.
 * Where it begins, or NULL. @before, @room: bytes of the text before p, from p on.
 */
static inline const uint8_t *fib_is_host_reg_set(const uint8_t *p,
						 size_t before, size_t room)
{
	if (room < 3 || p[1] != 0xae || (p[2] & 0xf8) != 0xd8)
		return NULL;
	if (before >= 2 && (p[-1] & 0xf0) == 0x40 && p[-2] == 0xf3)
		return p - 2;
	return before >= 1 && p[-1] == 0xf3 ? p - 1 : NULL;
}

/**
 * A bit for each of the 16 bytes at p that may end the opcode of a branch with
 * rel32: e8, e9, or 8x after 0f.
 */
static inline uint32_t fib_scan_branches(const uint8_t *p, bool has_before)
{
	__m128i v = _mm_loadu_si128((const __m128i *)p);
	__m128i b = has_before ? _mm_loadu_si128((const __m128i *)(p - 1)) :
				 _mm_slli_si128(v, 1);
	__m128i call = _mm_cmpeq_epi8(_mm_and_si128(v, _mm_set1_epi8(-2)),
				      _mm_set1_epi8((char)0xe8));
	__m128i jcc = _mm_and_si128(
		_mm_cmpeq_epi8(_mm_and_si128(v, _mm_set1_epi8(-16)),
			       _mm_set1_epi8((char)0x80)),
		_mm_cmpeq_epi8(b, _mm_set1_epi8(0x0f)));

	return (uint32_t)_mm_movemask_epi8(_mm_or_si128(call, jcc));
}

/* Its length behind the opcode, and where it leads from there. */
#define FIB_SCAN_REACH 4

static inline int64_t fib_scan_reach(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/**
 * mov $nr,%eax or %rax right before the syscall at p. @before: bytes of the text
 * before p.
 */
static inline bool fib_is_call_of(const uint8_t *p, size_t before, uint8_t nr)
{
	const uint8_t rax[] = { 0x48, 0xc7, 0xc0, nr, 0, 0, 0 };
	const uint8_t eax[] = { 0xb8, nr, 0, 0, 0 };

	return before >= sizeof(rax) &&
	       (!memcmp(p - sizeof(rax), rax, sizeof(rax)) ||
		!memcmp(p - sizeof(eax), eax, sizeof(eax)));
}

/** gdb knows these bytes, too. */
static inline bool fib_is_sigreturn(const uint8_t *p, size_t before)
{
	return fib_is_call_of(p, before, 15);
}

/** pop %rdi at its start: a vfork that keeps its return address there. */
static inline bool fib_is_vfork_entry(const uint8_t *p, size_t len)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (len > 16 && !memcmp(p, endbr, sizeof(endbr)))
		p += sizeof(endbr);
	return p[0] == 0x5f;
}

#endif
