/*
 * Function bounds and landing pads, out of .eh_frame and the exception tables.
 *
 * Only the encodings that gcc, clang and binutils produce are understood;
 * another one makes the scan fail, not guess.
 */
#include "preload/rewrite/internal.h"

#include <string.h>

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;
	int shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

/* Pointer in one of the encodings that are in use; false: another one. */
static bool encoded(const uint8_t **p, uint8_t enc, uintptr_t *out)
{
	uintptr_t base = (enc & 0x70) == 0x10 ? (uintptr_t)*p : 0;
	uint64_t v = 0;

	if ((enc & 0x70) > 0x10)
		return false;
	switch (enc & 0x0f) {
	case 0x01:
		v = uleb(p);
		break;
	case 0x02:
	case 0x0a:
		v = (uint64_t)((*p)[0] | (*p)[1] << 8);
		if ((enc & 0x08))
			v = (uint64_t)(int64_t)(int16_t)v;
		*p += 2;
		break;
	case 0x03:
		v = get32(*p);
		*p += 4;
		break;
	case 0x0b:
		v = (uint64_t)(int64_t)(int32_t)get32(*p);
		*p += 4;
		break;
	case 0x00:
	case 0x04:
	case 0x0c:
		memcpy(&v, *p, 8);
		*p += 8;
		break;
	default:
		return false;
	}
	*out = v ? base + v : 0;
	return true;
}

/* The augmentation of a CIE: encodings of addresses, and of LSDA pointers. */
static bool parse_cie(const uint8_t *cie, uint8_t *fde_enc, uint8_t *lsda_enc)
{
	const uint8_t *p = cie + 8;
	uint8_t version = *p++;
	const char *aug = (const char *)p;
	uintptr_t ignored;

	*fde_enc = 0;
	*lsda_enc = 0xff;
	p += strlen(aug) + 1;
	uleb(&p);
	uleb(&p); /* signed, but of the same length */
	if (version == 1)
		p++;
	else
		uleb(&p);
	if (*aug++ != 'z')
		return aug[-1] == 0;
	uleb(&p);
	for (; *aug; aug++) {
		uint8_t enc;

		switch (*aug) {
		case 'L':
			*lsda_enc = *p++;
			break;
		case 'R':
			*fde_enc = *p++;
			break;
		case 'P':
			enc = *p++;
			if (!encoded(&p, enc & 0x7f, &ignored))
				return false;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool parse_fde(const uint8_t *p, struct fib_fde *out)
{
	uint8_t fde_enc, lsda_enc;
	const uint8_t *cie;
	uintptr_t range;

	if (get32(p) == 0xffffffff)
		return false;
	cie = p + 4 - get32(p + 4);
	p += 8;
	if (!parse_cie(cie, &fde_enc, &lsda_enc))
		return false;
	if (!encoded(&p, fde_enc, &out->start) ||
	    !encoded(&p, fde_enc & 0x0f, &range))
		return false;
	out->end = out->start + range;
	out->lsda = 0;
	if (lsda_enc != 0xff) {
		uleb(&p);
		if (!encoded(&p, lsda_enc, &out->lsda))
			return false;
	}
	return true;
}

bool fib_frames_pads(struct fib_code *code, uintptr_t lsda)
{
	const uint8_t *p = (const uint8_t *)lsda, *end;
	uintptr_t base = code->addr, start, len, pad;
	uint8_t enc = *p++;

	if (enc != 0xff && !encoded(&p, enc, &base))
		return false;
	enc = *p++;
	if (enc != 0xff)
		uleb(&p);
	enc = *p++;
	len = uleb(&p);
	end = p + len;
	while (p < end) {
		if (!encoded(&p, enc, &start) || !encoded(&p, enc, &len) ||
		    !encoded(&p, enc, &pad))
			return false;
		uleb(&p);
		if (pad)
			fib_code_target(code, base + pad);
	}
	return true;
}

void fib_frames_init(struct fib_frames *fr, const struct dl_phdr_info *info)
{
	fr->hdr = NULL;
	fr->nfdes = 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			fr->hdr = (const uint8_t *)(info->dlpi_addr +
						    info->dlpi_phdr[i].p_vaddr);
	/* Version 1; count udata4; table of sdata4 from the header. */
	if (!fr->hdr || fr->hdr[0] != 1 || fr->hdr[2] != 0x03 ||
	    fr->hdr[3] != 0x3b || (fr->hdr[1] & 0x0f) != 0x0b) {
		fr->hdr = NULL;
		return;
	}
	fr->nfdes = get32(fr->hdr + 8);
	fr->table = (const int32_t *)(fr->hdr + 12);
}

static uintptr_t fde_start(const struct fib_frames *fr, uint32_t i)
{
	return (uintptr_t)fr->hdr + (uintptr_t)(intptr_t)fr->table[2 * i];
}

bool fib_frames_find(const struct fib_frames *fr, uintptr_t addr,
		     uintptr_t text, uintptr_t text_end, struct fib_fde *fn,
		     uintptr_t *next_fn, bool *gap)
{
	uint32_t lo = 0, hi = fr->nfdes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (fde_start(fr, mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*next_fn = lo < fr->nfdes ? fde_start(fr, lo) : text_end;
	if (*next_fn > text_end)
		*next_fn = text_end;
	*gap = true;
	if (lo == 0) {
		*fn = (struct fib_fde){ text, *next_fn, 0 };
		return true;
	}
	lo--;
	if (!parse_fde(fr->hdr + fr->table[2 * lo + 1], fn))
		return false;
	if (addr < fn->end) {
		*gap = false;
		return true;
	}
	if (fn->end < text)
		fn->end = text;
	*fn = (struct fib_fde){ fn->end, *next_fn, 0 };
	return true;
}
