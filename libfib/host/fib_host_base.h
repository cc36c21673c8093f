/* libfib below everything else of the engine: see runtime/host.h. */
#ifndef FIB_HOST_BASE_H
#define FIB_HOST_BASE_H

#define FIB_SEALED
#define FIB_LARGE
#define FIB_START
#define FIB_START_LAST
#define FIB_EXPORTED

/*
 * While the process has one thread, nobody comes between a load and a store,
 * and what changes a word needs no locked instruction. glibc knows: it clears
 * __libc_single_threaded before it makes the first thread, and what was written
 * until then that thread sees, since making it is a barrier. Each change looks
 * anew, so a lock may be taken in one way and given back in the other. Fibers
 * are no threads, and no function of the library is for signal handlers.
 * Before 2.32 glibc does not tell.
 */
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define fib_one_thread() (__libc_single_threaded != 0)
#else
#define fib_one_thread() false
#endif

/*
 * A program that uses the library may run under the preload: what blocks, and
 * what ends a descriptor, goes through libc then.
 */
long fib_call6(long nr, long a, long b, long c, long d, long e, long f);
#define FIB_CALL_(nr, a, b, c, d, e, f, ...)                                   \
	fib_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
		  (long)(f))
#define fib_call(...) FIB_CALL_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* Nobody looks for workers that are stuck. */
#define fib_host_late(turns) ((void)(turns))

#define FIB_HOST_STDERR	     0
#define FIB_HOST_CPU_TIME    0
#define FIB_HOST_TRACES	     0
#define FIB_HOST_ADDS_COUNTS 0

/* Sanitizers: runtime/san.h. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIB_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define FIB_TSAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIB_ASAN
#endif
#ifdef __SANITIZE_THREAD__
#define FIB_TSAN
#endif

#endif
