/*
 * Rewriting the syscall instructions of loaded objects into jumps to the slots
 * of tramp.S, from where they arrive at fib_dispatch().
 *
 * Owns the table of rewritten sites and the slots. fib_rewrite_scan() and
 * fib_rewrite_apply() are called once, one after the other, in a process
 * with one thread. One mutex guards the table when objects come later; it is
 * taken under the loader's lock, and dl_iterate_phdr's under it. All of these
 * run on an ordinary thread's or fiber's stack and call libc, so never from a
 * hook body.
 */
#ifndef FIB_REWRITE_H
#define FIB_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fib_rewrite_stats {
	uint32_t objects;  /* looked at */
	uint32_t known;	   /* of these: since the library was built */
	uint32_t sites;	   /* syscall instructions rewritten */
	uint32_t forward;  /* of these: window begins with the syscall */
	uint32_t backward; /* window begins before it */
	uint32_t entries;  /* functions replaced: vfork, _dl_debug_state */
	uint32_t passed;   /* numbers that need no rewriting, rt_sigreturn */
	uint64_t scan_ns, apply_ns;
};

/**
 * Finds every syscall instruction of libc.so.6, ld.so and (older glibc)
 * libpthread.so.0, and in every other object those that make futex, clone,
 * clone3, vfork or exit or whose number is not known; decides how to rewrite each.
 * Changes no text. `all`: every site of every object. `gives`: memory for text that only
 * the scan has read is given back, which takes calls on descriptors.
 *
 * Returns 0, or -errno with a reason: -ENOENT a site has no room for a jump,
 * -ERANGE libc is too far away, -EPERM shadow stacks are on, or an object sets the
 * host register (%gs) by an instruction of its own, -ENOMEM,
 * -ENOSPC more sites than slots, -EINVAL text that cannot be decoded.
 */
int fib_rewrite_scan(bool all, bool gives);

/**
 * Writes all that was scanned. The process has one thread, and it has all
 * signals blocked; no saved signal frame on its stack lies in a window
 * (arch/handler.c).
 *
 * Returns 0; or -errno with a reason, and no byte of text was changed.
 */
int fib_rewrite_apply(void);

/**
 * Objects loaded later are rewritten on their own, before any of their code
 * runs: _dl_debug_state(), which ld.so calls at that time, is replaced. This
 * tells how it went since the last call: the number of new sites, or -errno
 * with a reason where an object had to be left as it is. For after dlopen().
 */
int fib_rewrite_objects(void);

/**
 * If not NULL, called for each object that is loaded later and left as it is,
 * with fib_rewrite_reason() saying why; under the loader's lock.
 */
extern void (*fib_rewrite_left)(void);

/**
 * The same for one that is loaded later, is rewritten, and sets the host register, or
 * signal stacks below libc.
 */
extern void (*fib_rewrite_endangers)(void);

/** In a fork child, before any of the above is called there. */
void fib_rewrite_fork_child(void);

/**
 * Tells @found of each function that a jump out of the one at @from, of @size bytes,
 * leads to in the same object. For hints: what is not understood is left out.
 */
void fib_rewrite_tails(uintptr_t from, size_t size,
		       void (*found)(void *arg, uintptr_t from, size_t size),
		       void *arg);

/** One line, why the last of the above failed; "" if none did. */
const char *fib_rewrite_reason(void);

void fib_rewrite_stats(struct fib_rewrite_stats *out);

#endif
