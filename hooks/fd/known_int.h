/* The records of descriptors, between known.c and terms.c. See fd.h. */
#ifndef FIB_KNOWN_INT_H
#define FIB_KNOWN_INT_H

#include "hooks/fd/fd.h"

/** Changes when a number has become a stranger's: see reach_strangers(). */
extern _Atomic uint32_t fib_fd_strangers;

/** The record of @fd, made if need be. NULL: there is no memory, or no such number. */
struct fib_known *fib_fd_record(int fd);
/** The same if there ever was one. */
struct fib_known *fib_fd_record_known(int fd);
/** The first that there is from @fd on, or NULL. */
struct fib_known *fib_fd_record_from(int fd);
/** @k begins to be file number @files: of @d, or of a stranger. */
void fib_fd_begin_locked(struct fib_known *k, uint32_t files,
			 struct fib_desc *d);

/** The number of @k leads to @d from now on, which has been counted. */
void fib_fd_lead_locked(struct fib_known *k, struct fib_desc *d);
/** @old and @new, as these files, are one description. */
void fib_fd_be_twins(struct fib_known *old, uint32_t files,
		     struct fib_known *new, uint32_t new_files);

static inline bool fib_fd_is_current(const struct fib_known *k)
{
	return fib_load(&k->files, acquire) ==
	       fib_load(&k->slot->files, relaxed);
}

static inline uint8_t fib_fd_kind_of(const struct fib_known *k)
{
	return fib_likely(fib_fd_is_current(k)) ? k->kind : FIB_FD_UNKNOWN;
}

static inline void fib_fd_note_twin_locked(struct fib_known *k, uint8_t what)
{
	fib_store(&k->twin, fib_load(&k->twin, relaxed) | what, relaxed);
}

/* --- terms.c ---------------------------------------------------------------- */

struct fib_desc *fib_fd_desc_anew(struct fib_known *k) __attribute__((cold));

/** Of what the number is now; it may be another one's in a moment. */
static inline struct fib_desc *fib_fd_desc(struct fib_known *k)
{
	struct fib_desc *d = fib_load(&k->desc, acquire);

	return fib_likely(fib_fd_is_current(k) && d) ? d : fib_fd_desc_anew(k);
}

#endif
