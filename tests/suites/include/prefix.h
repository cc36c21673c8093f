/*
 * Included before every test: what glibc's libc-symbols.h and its internal
 * headers give them, as far as it can be had outside of a build of glibc. The
 * headers that this one stands for are named in glibc.py (STANDINS).
 */
#ifndef SUITES_PREFIX_H
#define SUITES_PREFIX_H

#define attribute_hidden
#define libc_hidden_proto(name, ...)
#define IS_IN(lib) 0

#ifndef __cplusplus
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/syscall.h>

#define __set_errno(e) (errno = (e))

/* internal-signals.h */
#define SIGCANCEL		__SIGRTMIN
#define SIGTIMER		SIGCANCEL
#define SIGSETXID		(__SIGRTMIN + 1)
#define is_internal_signal(sig) ((sig) == SIGCANCEL || (sig) == SIGSETXID)

/* atomic.h */
#define atomic_load_relaxed(p)	   __atomic_load_n(p, __ATOMIC_RELAXED)
#define atomic_load_acquire(p)	   __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define atomic_store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define atomic_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define atomic_fetch_add_relaxed(p, v)                                         \
	__atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define atomic_fetch_add_acq_rel(p, v)                                         \
	__atomic_fetch_add(p, v, __ATOMIC_ACQ_REL)

/* shlib-compat.h; x86-64 begins with 2.2.5 */
#define SHLIB_COMPAT(lib, from, to)  1
#define TEST_COMPAT(lib, from, to)   1
#define SUITES_GLIBC_2_0	     "GLIBC_2.2.5"
#define SUITES_GLIBC_2_1	     "GLIBC_2.2.5"
#define SUITES_GLIBC_2_2	     "GLIBC_2.2.5"
#define SUITES_GLIBC_2_2_5	     "GLIBC_2.2.5"
#define SUITES_SYMVER(local, sym, v) __asm__(".symver " #local ", " #sym "@" v);
#define compat_symbol_reference(lib, local, sym, version)                      \
	SUITES_SYMVER(local, sym, SUITES_##version)

/* allocate_once.h */
static inline void *allocate_once(void **place, void *(*make)(void *),
				  void (*drop)(void *, void *), void *closure)
{
	void *now = __atomic_load_n(place, __ATOMIC_ACQUIRE), *made;

	if (now)
		return now;
	made = make(closure);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(place, &now, made, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	if (drop)
		drop(closure, made);
	return now;
}
#endif

#endif
