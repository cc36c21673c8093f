/*
 * libc's own functions behind the exported ones, from symbols.def.
 *
 * Looked up by the constructor, or by the first call if another library's
 * constructor comes before it; sealed with the start of the runtime.
 */
#ifndef FIB_PRELOAD_SYMBOLS_H
#define FIB_PRELOAD_SYMBOLS_H

#include <aio.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>

struct fib_real {
#define FIB_REAL(ret, name, types) ret(*name) types;
#define FIB_LIBC		   FIB_REAL
#define FIB_ALIAS(name, of)
#define FIB_OWN(name)
#define FIB_CALL2(ret, name, call, A, a, B, b)	     ret (*name)(A, B);
#define FIB_CALL3(ret, name, call, A, a, B, b, C, c) ret (*name)(A, B, C);
#define FIB_CALL4(ret, name, call, A, a, B, b, C, c, D, d)                     \
	ret (*name)(A, B, C, D);
#define FIB_CALL6(ret, name, call, A, a, B, b, C, c, D, d, E, e, F, f)         \
	ret (*name)(A, B, C, D, E, F);
#include "preload/symbols.def"
};

extern struct fib_real fib_real __attribute__((visibility("hidden")));

/* Functions that a library behind this one has in libc's place. */
struct fib_foreign {
#define FIB_REAL(ret, name, types) bool name;
#define FIB_LIBC		   FIB_REAL
#define FIB_ALIAS(name, of)
#define FIB_OWN(name)
#define FIB_CALL2(ret, name, ...) bool name;
#define FIB_CALL3(ret, name, ...) bool name;
#define FIB_CALL4(ret, name, ...) bool name;
#define FIB_CALL6(ret, name, ...) bool name;
#include "preload/symbols.def"
};

extern struct fib_foreign fib_foreign __attribute__((visibility("hidden")));

/** Look them all up. */
void fib_real_init(void) __attribute__((visibility("hidden")));

/* Before our constructor other libraries' constructors may call us. */
#define FIB_LIBC_CALL(name, ...)                                               \
	((__builtin_expect(!fib_real.name, 0) ? fib_real_init() : (void)0),    \
	 fib_real.name(__VA_ARGS__))

#endif
