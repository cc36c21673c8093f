/*
 * What the parts of the rewriter share. insn.c decodes and moves instructions;
 * window.c finds, in one function, a window for one syscall instruction (both in
 * arch/); objects.c walks the functions of an object, whose bounds frames.c
 * knows, and resident.c gives back the pages that this has touched; rewrite.c walks
 * the loaded objects and keeps the table of sites; write.c writes. tails.c finds where
 * a function goes on in another one: for hooks/report/waits.c.
 *
 * Owns the table of sites. Scanning and applying are for one thread at a
 * time: rewrite.c says who may call.
 */
#ifndef FIB_REWRITE_INTERNAL_H
#define FIB_REWRITE_INTERNAL_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/rewrite/rewrite.h"
#include "insn_arch.h"
#include "slot_arch.h"

/* Marks on the bytes of a function. */
enum {
	FIB_MARK_START = 1,   /* an instruction starts here */
	FIB_MARK_TARGET = 2,  /* something may jump here */
	FIB_MARK_CLAIMED = 4, /* part of a window */
};

/* A function, or a gap between functions. */
struct fib_code {
	const uint8_t *bytes; /* len + pad of them */
	uintptr_t addr;	      /* at which they run */
	uint32_t len;
	uint32_t pad;  /* bytes behind it that nobody reaches */
	uint8_t *mark; /* len + pad + 1 of them */
	bool jumps_indirectly;
	bool undecoded; /* some of it is no code */
	bool leas_lost; /* there were more */
	/* What `lea` in it points at: jump tables, and their bases. */
	uint32_t nleas, max_leas;
	uintptr_t *leas;
};

/* One rewritten site: a window of the text, and what its slot holds. */
struct fib_site {
	uintptr_t start; /* the window: start .. start + len */
	uintptr_t insn;	 /* the syscall instruction in it */
	uintptr_t slot;	 /* 0: a function is replaced: start is its entry */
	uintptr_t block; /* where moved instructions are: the slot, or near */
	uint8_t len;
	uint8_t entry;	 /* offset in the block that the window jumps to */
	uint8_t ntail;	 /* bytes of the block's tail in use */
	uint16_t object; /* which it belongs to; 0: the site is free */
	bool applied;
	uint8_t old[FIB_WINDOW_MAX]; /* the window before, */
	uint8_t new[FIB_WINDOW_MAX]; /* and after */
	uint8_t body[FIB_SLOT_SIZE]; /* the block; a slot keeps its core */
};

/** Decodes all of the function, filling in the marks and the leas. */
void fib_code_mark(struct fib_code *code);

/** Marks addr as a jump target if it lies within. */
void fib_code_target(struct fib_code *code, uintptr_t addr);

/**
 * Reads the jump table at `table`, of offsets (4 bytes, from `base`) or of
 * addresses (8 bytes, base 0), until an entry leads out of `text`, and marks
 * the targets.
 */
void fib_code_table(struct fib_code *code, const uint8_t *table,
		    const uint8_t *table_end, int width, uintptr_t base,
		    uintptr_t text, uintptr_t text_end);

/**
 * The number of the system call made at offset `at`, where it can be read
 * off the instructions right before; -1 where it cannot.
 */
long fib_code_number(const struct fib_code *code, uint32_t at);

/**
 * Chooses the window for the syscall instruction at offset `at`, and fills in
 * the site except for `applied`. The slot is one at address `slot`; `block` is
 * the same, or the address of a block that is near (tramp.S). Returns 0,
 * -ENOENT: no five bytes are free of jump targets and movable;
 * -ERANGE: something does not reach.
 */
int fib_window_choose(struct fib_code *code, uint32_t at, uintptr_t slot,
		      uintptr_t block, struct fib_site *site);

/** The same, if the window is to start at offset `start`. */
int fib_window_at(struct fib_code *code, uint32_t start, uint32_t at,
		  uintptr_t slot, uintptr_t block, struct fib_site *site);

/** The window is the entry of the function itself: a jmp to `to`. */
int fib_window_entry(struct fib_code *code, uint32_t at, uintptr_t to,
		     struct fib_site *site);

#define FIB_MAX_SITES	FIB_SLOTS
#define FIB_MAX_OBJECTS 4096
#define FIB_MAX_RANGES	(FIB_MAX_OBJECTS + 64)

/* A segment of text, in whole pages, and how it is protected. */
struct fib_range {
	uintptr_t start, end;
	int prot;
	uint16_t object;
	uintptr_t image; /* of it, in a memory file */
};

/* None is in use from fib_nsites on: their pages are not touched. */
extern struct fib_site fib_sites[FIB_MAX_SITES];
extern uint32_t fib_nsites;
extern struct fib_range fib_ranges[FIB_MAX_RANGES]; /* [0] are the slots */
extern uint32_t fib_nranges;

/** Writes all sites that are scanned and not applied: one thread. */
int fib_write_alone(void);

/** The same for text that no thread executes, while other threads run. */
int fib_write_unused(void);

/* The functions of an object: the sorted table of .eh_frame_hdr. */
struct fib_frames {
	const uint8_t *hdr;   /* NULL: there is none */
	const int32_t *table; /* pairs: function, FDE; both from hdr */
	uint32_t nfdes;
};

struct fib_fde {
	uintptr_t start, end;
	uintptr_t lsda; /* exception table, or 0 */
};

void fib_frames_init(struct fib_frames *fr, const struct dl_phdr_info *info);

/**
 * The function around addr in text .. text_end, or the gap between functions
 * (*gap = true); *next_fn is where the next function begins. Returns
 * false where the table is not understood.
 */
bool fib_frames_find(const struct fib_frames *fr, uintptr_t addr,
		     uintptr_t text, uintptr_t text_end, struct fib_fde *fn,
		     uintptr_t *next_fn, bool *gap);

/** Marks the landing pads in the exception table: the unwinder goes there. */
bool fib_frames_pads(struct fib_code *code, uintptr_t lsda);

/* What a scan is about, and what it has found. */
struct fib_scan {
	bool all;		 /* every site of every object */
	bool gives;		 /* pages back: fib_resident_note() */
	uint16_t object;	 /* which the new sites belong to */
	uint32_t nsites;	 /* found so far, the last of them in site[] */
	uintptr_t sets_host_reg; /* the first instruction that does, or 0 */
	uintptr_t sets_altstack; /* the same of sigaltstack, below libc */
	struct fib_rewrite_stats *stats;
};

/** About @n sites are going to be taken: memory for all of them, at one go. */
void fib_scan_expect(uint32_t n);

/** A free site, and the address of its slot; 0: none is left. */
uintptr_t fib_scan_new_site(struct fib_scan *scan, struct fib_site **site);

/**
 * The block that goes with `slot` for sites around `addr`, which are too far
 * from it; the object's blocks are mapped at the first. 0: no room is near.
 */
uintptr_t fib_scan_near_block(struct fib_scan *scan, uintptr_t slot,
			      uintptr_t addr);

/**
 * Chooses the window of a new site; `known`: it is all of the code. Where the slot
 * is too far, by a block that is near. As fib_window_choose().
 */
int fib_scan_place(struct fib_scan *scan, struct fib_code *code, uint32_t at,
		   bool known, uintptr_t slot, struct fib_site *site);

/** All that the scan has found is free again. */
void fib_scan_give_back(struct fib_scan *scan);

/**
 * Finds and prepares the sites of one object. `whole`: of libc's family, all
 * sites; else those that are or may be futex, clone, vfork or exit. 0 or -errno with
 * the reason told to fib_rewrite_fail().
 */
int fib_scan_object(struct fib_scan *scan, const struct dl_phdr_info *info,
		    bool whole);

/*
 * A scan reads all text, and so the kernel maps it: memory that the process has by every
 * count from then on, and did not need. What nobody had touched before is given back.
 */
struct fib_resident {
	uintptr_t start;   /* of the text, */
	size_t npages;	   /* and how much of it is known; 0: none */
	uint64_t *before;  /* a bit for each page that was there */
	uint64_t *entries; /* room for FIB_RESIDENT_READ */
	int pagemap;
};

#define FIB_RESIDENT_READ 512

/**
 * What is there? @before is zero. Opens a file: for a process with one thread. Nothing is
 * given back of what is not known.
 */
void fib_resident_note(struct fib_resident *r);

/** The program's own pages stay, and so does what it had touched. */
void fib_resident_give_back(struct fib_resident *r);

/** Prepares the function at addr, empty but for its ret, to become `hook`. */
int fib_scan_debug_state(struct fib_scan *scan, uintptr_t addr,
			 void (*hook)(void));

/** What to say of the code at @at: @else_what, or that a debugger was there. */
const char *fib_rewrite_trapped(uintptr_t at, const char *else_what);
/** Keeps the reason. Returns err. */
int fib_rewrite_fail(int err, const char *what, uintptr_t at,
		     const char *object);

#endif
