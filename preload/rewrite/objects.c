/*
 * The functions of one loaded object that contain syscall instructions.
 *
 * Function bounds come from .eh_frame by way of its sorted header; hand-made
 * assembly (clone, clone3) lies in the gaps between. Only functions and gaps
 * that hold the bytes 0f 05 are decoded, which is one in ten.
 *
 * A jump from another function (a .cold part going back, a tail call) could
 * land in a window, too. Decoding everything would cost ten times as much: a
 * pass over the raw bytes looks instead for anything that might be a rel32
 * branch to the neighbourhood of a site. What looks like one by accident
 * only makes a window longer.
 */
#include "preload/rewrite/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "raw_arch.h"
#include "scan_arch.h"

#define NEAR	  32 /* a target this close to 0f 05 might matter */
#define MAX_LEAS  16384
#define MIN_GIVEN 32 /* pages: of fewer most are touched anyway, 16 at a time */
#define MAX_GAP	  65536 /* without a frame; what is longer is data */
#define MAX_ENDS                                                               \
	1024 /* the same, before the first function or behind the last */

struct span {
	uintptr_t start, end;
};

/* The object that is being scanned. */
struct object {
	struct fib_scan *scan;
	const struct dl_phdr_info *info;
	bool whole;
	struct span text; /* the segment at hand */
	struct fib_frames frames;
	uintptr_t *hits; /* 0f 05 */
	uint32_t nhits, max;
	uint8_t *near;	   /* a byte for 64 of text: a hit is not far */
	uint64_t *targets; /* a bit for each byte of text: branched to */
	bool targets_found;
	struct fib_resident resident;
	uint8_t *marks;	 /* of the function at hand, */
	uintptr_t *leas; /* and what `lea` points at in it */
	size_t scratch_size;
};

/* ---- raw bytes ---- */

/*
 * Whether an instruction starts at p. Where no function is known, what has a REX
 * prefix is taken for one: such bytes come by chance in one of 16 GB.
 */
static bool is_insn(const struct object *o, const uint8_t *p)
{
	struct fib_insn in;
	struct fib_fde fn;
	const uint8_t *at;
	uintptr_t next_fn;
	bool gap;

	if (!fib_frames_find(&o->frames, (uintptr_t)p, o->text.start,
			     o->text.end, &fn, &next_fn, &gap) ||
	    gap)
		return p[1] != 0x0f;
	for (at = (const uint8_t *)fn.start; at < p; at += in.len)
		if (!fib_insn_decode(at, fn.end - (uintptr_t)at, &in))
			in.len = 1;
	return at == p;
}

/* By 0f ae at @hit, if it is the first of the object. */
static void look_for_host_reg(struct object *o, const uint8_t *hit)
{
	const uint8_t *p;

	if (o->scan->sets_host_reg)
		return;
	p = fib_is_host_reg_set(hit, (uintptr_t)hit - o->text.start,
				o->text.end - (uintptr_t)hit);
	if (p && is_insn(o, p))
		o->scan->sets_host_reg = (uintptr_t)p;
}

/*
 * A runtime below libc, as Go's, whose functions are in no frame table: it gives a
 * signal stack and masks to the kernel thread it is on.
 */
static void look_for_altstack(struct object *o, const uint8_t *hit)
{
	struct fib_fde fn;
	uintptr_t next_fn;
	bool gap;

	if (o->whole || o->scan->sets_altstack ||
	    !fib_is_call_of(hit, (uintptr_t)hit - o->text.start,
			    SYS_sigaltstack))
		return;
	if (fib_frames_find(&o->frames, (uintptr_t)hit, o->text.start,
			    o->text.end, &fn, &next_fn, &gap) &&
	    gap)
		o->scan->sets_altstack = (uintptr_t)hit;
}

static int find_hits(struct object *o)
{
	const uint8_t *p = (const uint8_t *)o->text.start;
	const uint8_t *end = (const uint8_t *)o->text.end;

	o->nhits = 0;
	for (; (p = fib_scan_code(p, end)); p++) {
		if (!fib_is_syscall(p)) {
			look_for_host_reg(o, p);
			continue;
		}
		if (o->nhits == o->max)
			return fib_rewrite_fail(-ENOSPC, "too many sites in",
						(uintptr_t)p,
						o->info->dlpi_name);
		look_for_altstack(o, p);
		o->hits[o->nhits++] = (uintptr_t)p;
	}
	return 0;
}

/* If the byte at offset i were the last of a branch's opcode. */
static void note_target(struct object *o, size_t i)
{
	size_t size = o->text.end - o->text.start;
	uint64_t to;

	if (i + 1 + FIB_SCAN_REACH > size)
		return;
	to = i + 1 + FIB_SCAN_REACH;
	to += (uint64_t)fib_scan_reach((const uint8_t *)o->text.start + i + 1);
	if (to < size && o->near[to / 64])
		o->targets[to / 64] |= 1ull << to % 64;
}

/*
 * Whatever might be a branch with rel32 to the neighbourhood of a hit: at
 * e8, e9 and 0f 8x.
 */
static void find_targets(struct object *o)
{
	const uint8_t *p = (const uint8_t *)o->text.start;
	size_t size = o->text.end - o->text.start;

	if (o->targets_found)
		return;
	o->targets_found = true;
	for (uint32_t i = 0; i < o->nhits; i++) {
		size_t off = o->hits[i] - o->text.start;
		size_t from = off > NEAR ? off - NEAR : 0;

		for (size_t b = from / 64; b <= (off + NEAR) / 64; b++)
			o->near[b] = 1;
	}
	/* Four pieces at a time: how many are found is guessed less often. */
	for (size_t i = 0; i + 1 + FIB_SCAN_REACH <= size; i += 64) {
		uint64_t found = ~0ull;

		for (size_t k = 0; k < 64 && i + 64 <= size; k += 16) {
			uint64_t piece =
				fib_scan_branches(p + i + k, i + k > 0);

			found &= ~(0xffffull << k) | piece << k;
		}
		for (; found; found &= found - 1)
			note_target(o, i + (size_t)__builtin_ctzll(found));
	}
}

/* ---- functions ---- */

/* The segment of the object that addr is in, or NULL. */
static const ElfW(Phdr) * segment(const struct object *o, uintptr_t addr)
{
	for (int i = 0; i < o->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &o->info->dlpi_phdr[i];
		uintptr_t start = o->info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_R) &&
		    addr >= start && addr < start + ph->p_memsz)
			return ph;
	}
	return NULL;
}

/*
 * Jump tables: whatever a lea points at, while the entries lead into the
 * text. Offsets stand in read-only data and count from the table itself, or
 * from a label of this function; addresses stand where relocation can write.
 */
static void mark_tables(const struct object *o, struct fib_code *code)
{
	if (!code->jumps_indirectly)
		return;
	for (uint32_t i = 0; i < code->nleas; i++) {
		uintptr_t at = code->leas[i], end;
		const ElfW(Phdr) *ph = segment(o, at);

		if (!ph || (ph->p_flags & PF_X))
			continue;
		end = o->info->dlpi_addr + ph->p_vaddr + ph->p_memsz;
		fib_code_table(code, (const uint8_t *)at, (const uint8_t *)end,
			       8, 0, o->text.start, o->text.end);
		if (ph->p_flags & PF_W)
			continue;
		for (uint32_t j = 0; j < code->nleas; j++) {
			uintptr_t base = code->leas[j];

			if (base != at && base - code->addr >= code->len)
				continue;
			fib_code_table(code, (const uint8_t *)at,
				       (const uint8_t *)end, 4, base,
				       o->text.start, o->text.end);
		}
	}
}

/* Whether the site in this object has to be rewritten. */
static bool wanted(const struct object *o, long nr, bool gap)
{
	if (o->whole || o->scan->all)
		return true;
	if (nr == SYS_futex || nr == SYS_clone || nr == SYS_clone3 ||
	    nr == SYS_vfork || nr == SYS_exit)
		return true;
	/* Between functions, and with no number: rather data than code. */
	return nr < 0 && !gap;
}

static int place(struct fib_code *code, uint32_t at, bool known, uintptr_t slot,
		 uintptr_t block, struct fib_site *site)
{
	return known ? fib_window_at(code, 0, at, slot, block, site) :
		       fib_window_choose(code, at, slot, block, site);
}

int fib_scan_place(struct fib_scan *scan, struct fib_code *code, uint32_t at,
		   bool known, uintptr_t slot, struct fib_site *site)
{
	int err = place(code, at, known, slot, slot, site);
	uintptr_t block;

	if (err != -ERANGE)
		return err;
	block = fib_scan_near_block(scan, slot, code->addr + at);
	return block ? place(code, at, known, slot, block, site) : err;
}

static int add_site(struct object *o, struct fib_code *code, uint32_t at,
		    bool gap)
{
	struct fib_scan *scan = o->scan;
	const char *name = o->info->dlpi_name;
	uintptr_t addr = code->addr + at;
	long nr = fib_code_number(code, at);
	struct fib_site *site;
	uintptr_t slot;
	int err;

	if (fib_is_sigreturn((const uint8_t *)addr, addr - o->text.start) ||
	    nr == SYS_rt_sigreturn || !wanted(o, nr, gap)) {
		scan->stats->passed++;
		return 0;
	}
	if (code->leas_lost && code->jumps_indirectly)
		return fib_rewrite_fail(-EINVAL, "too many jump tables", addr,
					name);
	slot = fib_scan_new_site(scan, &site);
	if (!slot)
		return fib_rewrite_fail(-ENOSPC, "no slot is left for", addr,
					name);
	if (nr == SYS_vfork) {
		if (gap || !fib_is_vfork_entry(code->bytes, code->len))
			return fib_rewrite_fail(
				-ENOENT,
				fib_rewrite_trapped(addr,
						    "unknown kind of vfork in"),
				addr, name);
		err = fib_window_entry(code, at, (uintptr_t)fib_vfork_stub,
				       site);
	} else {
		err = fib_scan_place(scan, code, at, false, slot, site);
	}
	if (err == -ERANGE)
		return fib_rewrite_fail(err, "too far from the trampolines",
					addr, name);
	if (err)
		return fib_rewrite_fail(err, "no room for a jump", addr, name);
	return 0;
}

/* Bytes from start on, up to `end`, that are nops. */
static uint32_t padding(uintptr_t start, uintptr_t end)
{
	uintptr_t at = start;
	struct fib_insn in;

	while (at < end && at - start < FIB_INSN_MAX &&
	       fib_insn_decode((const uint8_t *)at, end - at, &in) &&
	       in.kind == FIB_INSN_NOP)
		at += in.len;
	return (uint32_t)(at - start);
}

/* Most 0f 05 of big objects are parts of operands: a look at no more than is
 * needed to know. */
static bool has_site(const struct object *o, const struct fib_code *code)
{
	const uint8_t *last = code->bytes + code->len - 1;
	struct fib_insn in;
	uint32_t at = 0;

	while (last > code->bytes && (last[-1] != 0x0f || last[0] != 0x05))
		last--;
	while (code->bytes + at < last) {
		if (!fib_insn_decode(code->bytes + at, code->len - at, &in)) {
			if (o->whole)
				return true;
			at++;
			continue;
		}
		if (code->bytes[at] == 0x0f && code->bytes[at + 1] == 0x05)
			return true;
		at += in.len;
	}
	return false;
}

/* Code that holds no site, or is no code. */
static bool is_dull(const struct object *o, const struct fib_fde *fn, bool gap,
		    const struct fib_code *code)
{
	/*
	 * A linker that gives code no segment of its own (binutils before 2.31)
	 * puts headers and symbol tables before the first function, and constants
	 * behind the last.
	 */
	if (gap && o->whole && code->len > MAX_ENDS &&
	    (fn->start == o->text.start || fn->end == o->text.end))
		return true;
	if (gap && code->len > MAX_GAP && !o->whole && o->frames.hdr)
		return true;
	return !o->whole && !has_site(o, code);
}

/*
 * The same of what has been marked. Where nearly all 0f 05 are sites, as in libc,
 * code is not decoded twice to find that out.
 */
static bool has_marked_site(const struct object *o, const struct fib_code *code)
{
	const uint8_t *p = code->bytes;

	for (; (p = fib_scan_syscall(p, code->bytes + code->len)); p++)
		if (code->mark[p - code->bytes] & FIB_MARK_START)
			return true;
	return code->undecoded && has_site(o, code);
}

/* Where something may jump to. */
static int mark_jumps(struct object *o, const struct fib_fde *fn,
		      struct fib_code *code)
{
	size_t from = fn->start - o->text.start, to = from + code->len;

	find_targets(o);
	code->mark[0] |= FIB_MARK_TARGET;
	for (size_t w = from / 64; w * 64 < to; w++) {
		for (uint64_t b = o->targets[w]; b; b &= b - 1) {
			size_t at = w * 64 + (size_t)__builtin_ctzll(b);

			/*
			 * What looks like a jump may be none; it is none that
			 * leads from another function into the midst of an
			 * instruction.
			 */
			if (at >= from && at < to &&
			    (code->mark[at - from] & FIB_MARK_START))
				code->mark[at - from] |= FIB_MARK_TARGET;
		}
	}
	mark_tables(o, code);
	if (fn->lsda && !fib_frames_pads(code, fn->lsda))
		return fib_rewrite_fail(-EINVAL, "unknown exception table",
					fn->start, o->info->dlpi_name);
	return 0;
}

static int scan_function(struct object *o, const struct fib_fde *fn,
			 uintptr_t next_fn, bool gap)
{
	struct fib_code code = {
		.bytes = (const uint8_t *)fn->start,
		.addr = fn->start,
		.len = (uint32_t)(fn->end - fn->start),
		.pad = padding(fn->end, next_fn),
		.mark = o->marks,
		.leas = o->leas,
		.max_leas = MAX_LEAS,
	};
	const uint8_t *p;
	int err;

	if (is_dull(o, fn, gap, &code))
		return 0;
	fib_code_mark(&code);
	if (!has_marked_site(o, &code))
		return 0;
	err = mark_jumps(o, fn, &code);
	for (p = code.bytes;
	     !err && (p = fib_scan_syscall(p, code.bytes + code.len)); p++) {
		uint32_t at = (uint32_t)(p - code.bytes);

		if (code.mark[at] & FIB_MARK_START)
			err = add_site(o, &code, at, gap);
		else if (code.undecoded && o->whole && !gap)
			err = fib_rewrite_fail(-EINVAL, "cannot decode",
					       fn->start, o->info->dlpi_name);
		/* else part of an operand */
	}
	return err;
}

/*
 * ld.so calls _dl_debug_state(), an empty function made for debuggers, once
 * new objects are mapped and before any of their code runs. Its `ret` and the
 * padding behind are replaced by a jump to `hook`.
 */
int fib_scan_debug_state(struct fib_scan *scan, uintptr_t addr,
			 void (*hook)(void))
{
	uint8_t mark[32];
	struct fib_code code = {
		.bytes = (const uint8_t *)addr,
		.addr = addr,
		.len = 1,
		.mark = mark,
	};
	struct fib_site *site;
	int err;

	if (!memcmp(code.bytes, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
		code.len = 5;
	if (code.bytes[code.len - 1] == 0xf3) /* rep ret, for old AMD CPUs */
		code.len++;
	if (code.bytes[code.len - 1] != 0xc3)
		return -ENOENT;
	code.pad = padding(addr + code.len, (addr | 15) + 1);
	fib_code_mark(&code);
	if (code.len + code.pad < FIB_WINDOW_MIN ||
	    !fib_scan_new_site(scan, &site))
		return -ENOENT;
	err = fib_window_entry(&code, 0, (uintptr_t)hook, site);
	if (err)
		*site = (struct fib_site){ 0 };
	return err;
}

static int scan_text(struct object *o)
{
	uintptr_t done = 0;
	int err = find_hits(o);

	if (err || !o->nhits)
		return err;
	o->targets_found = false;
	for (uint32_t i = 0; i < o->nhits && !err; i++) {
		uintptr_t next_fn;
		struct fib_fde fn;
		bool gap;

		if (o->hits[i] < done)
			continue;
		if (!fib_frames_find(&o->frames, o->hits[i], o->text.start,
				     o->text.end, &fn, &next_fn, &gap) ||
		    fn.start < o->text.start || fn.end > o->text.end)
			return fib_rewrite_fail(-EINVAL, "unknown frame table",
						o->hits[i], o->info->dlpi_name);
		err = scan_function(o, &fn, next_fn, gap);
		done = fn.end;
	}
	return err;
}

/* Zeroed memory for one segment of text; most of it is never touched. */
static int scratch_map(struct object *o)
{
	size_t text =
		((o->text.end + 4095) & -4096UL) - (o->text.start & -4096UL);
	size_t hits = 65536 * sizeof(o->hits[0]);
	size_t leas = MAX_LEAS * sizeof(o->leas[0]);
	size_t entries = FIB_RESIDENT_READ * sizeof(uint64_t);
	long p;

	o->scratch_size = hits + leas + entries + 2 * text + 2 * 4096;
	p = fib_raw(SYS_mmap, 0, o->scratch_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p < 0)
		return fib_rewrite_fail((int)p, "no memory to scan",
					o->text.start, o->info->dlpi_name);
	o->max = 65536;
	o->hits = (uintptr_t *)p;
	o->leas = (uintptr_t *)(p + (long)hits);
	o->resident = (struct fib_resident){
		.start = o->text.start & -4096UL,
		.npages = text / 4096,
		.entries = (uint64_t *)(p + (long)(hits + leas)),
	};
	o->resident.before = o->resident.entries + FIB_RESIDENT_READ;
	o->targets = o->resident.before + text / 4096 / 64 + 1;
	o->near = (uint8_t *)(o->targets + text / 64);
	o->marks = o->near + text / 64 + 4096;
	return 0;
}

int fib_scan_object(struct fib_scan *scan, const struct dl_phdr_info *info,
		    bool whole)
{
	struct object o = { .scan = scan, .info = info, .whole = whole };
	bool gives;
	int err = 0;

	scan->stats->objects++;
	fib_frames_init(&o.frames, info);
	if (whole && !o.frames.hdr)
		return fib_rewrite_fail(-EINVAL, "no frame table in",
					info->dlpi_addr, info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum && !err; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    ph->p_filesz < 8)
			continue;
		o.text.start = info->dlpi_addr + ph->p_vaddr;
		o.text.end = o.text.start + ph->p_filesz;
		err = scratch_map(&o);
		if (err)
			break;
		gives = scan->gives && o.resident.npages >= MIN_GIVEN;
		if (gives)
			fib_resident_note(&o.resident);
		err = scan_text(&o);
		if (gives)
			fib_resident_give_back(&o.resident);
		fib_raw(SYS_munmap, o.hits, o.scratch_size);
	}
	return err;
}
