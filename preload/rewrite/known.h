/*
 * What a scan of libc and ld.so comes to, remembered in the library itself. When it
 * is built, known/ scans the libc and ld.so of the machine that builds it, and
 * the windows that were chosen are linked in, by the objects' build ids. A
 * process with the very same files takes these, and need not look at their
 * text, nor decode it; all others scan.
 *
 * A build id says that the file is the same, so all that is the same of every
 * load: which windows there are. That a window's bytes are still the file's is
 * looked at for each: a debugger or another preload may have changed them, and
 * then the object is scanned. What is in the slots depends on where the object
 * is loaded, and is made anew.
 *
 * Constant data. Rejected: files beside the library or in a cache, which somebody
 * else might write, and which go stale unnoticed.
 */
#ifndef FIB_REWRITE_KNOWN_H
#define FIB_REWRITE_KNOWN_H

#include "preload/rewrite/internal.h"

#define FIB_BUILD_ID 20 /* bytes; objects with another kind are not known */

struct fib_known_site {
	uint32_t start; /* of the window, from where the object is loaded */
	uint16_t at;	/* the syscall instruction, from there */
	uint8_t len;	/* of the window */
	uint8_t entry;	/* of a function, which is replaced */
	uint8_t old[FIB_WINDOW_MAX];
};

struct fib_known {
	uint8_t id[FIB_BUILD_ID];
	uint32_t nsites; /* the next ones in fib_known_sites[] */
};

/* Up to one without sites; not linked to the tests of the scan. */
extern const struct fib_known fib_known[] __attribute__((weak));
extern const struct fib_known_site fib_known_sites[] __attribute__((weak));

/** The build id of the object; NULL: it has none of FIB_BUILD_ID bytes. */
const uint8_t *fib_known_id(const struct dl_phdr_info *info);

/**
 * Takes the sites of the object, where it is known and as it was: true. Else
 * none.
 */
bool fib_known_take(struct fib_scan *scan, const struct dl_phdr_info *info);

#endif
