/*
 * What libfib shows of itself to fibhook dump, status and stats: where its table
 * (symtab.h) and its schedulers are, and where each field of a record stands,
 * since its records are not those of the preload, and a build for a sanitizer
 * has others again.
 *
 * It is found by a note (PT_NOTE) of the object that libfib is in, a library or
 * a program linked with the archive: its owner is "fib", and what it holds is the
 * distance from there to this object. So no symbol is needed, which strip would
 * take away.
 */
#ifndef FIB_SEEN_H
#define FIB_SEEN_H

#include "runtime/symtab.h"

#define FIB_SEEN_OWNER "fib"
#define FIB_SEEN_NOTE  0x666962
#define FIB_SEEN_MAGIC 0x6e6565736c626902ull

enum fib_seen_row {
#define FIB_SEEN(record, field)		  FIB_SEEN_##record##_##field,
#define FIB_SEEN_LIB(record, name, field) FIB_SEEN_##record##_##name,
#include "runtime/seen.def"
#undef FIB_SEEN
#undef FIB_SEEN_LIB
	FIB_SEEN_ROWS
};

struct fib_seen {
	/* What every version has in these places. */
	uint64_t magic;
	char version[16];
	/* What has the layout of this version. */
	struct fib_symtab *table;
	struct fib_list *scheds;
	struct {
		uint32_t at, size;
	} row[FIB_SEEN_ROWS];
};

/* Of enum fib_life, libfib/lib.h, and of enum fib_state, libfib/fib.h. */
#define FIB_SEEN_HAND 1u
#define FIB_SEEN_MAIN 16u
#define FIB_SEEN_TERM 4

#endif
