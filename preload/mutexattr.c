/*
 * Attributes of mutexes that tell other processes who owns them: from the first
 * one on, new threads have ids that the kernel knows (hooks/core/threads.h).
 */
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/signal/signal.h"
#include "preload/preload.h"
#include "preload/symbols.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void get(const pthread_mutexattr_t *a, const char *name, int *value)
{
	int (*real)(const pthread_mutexattr_t *, int *) = fib_lookup(name, NULL);

	if (real)
		real(a, value);
}

static void look(const pthread_mutexattr_t *a)
{
	int shared = 0, type = 0, robust = 0, protocol = 0;
	struct fib *f;

	get(a, "pthread_mutexattr_getpshared", &shared);
	if (shared != PTHREAD_PROCESS_SHARED || fib_options.disable)
		return;
	get(a, "pthread_mutexattr_gettype", &type);
	get(a, "pthread_mutexattr_getrobust", &robust);
	get(a, "pthread_mutexattr_getprotocol", &protocol);
	if (type != PTHREAD_MUTEX_RECURSIVE &&
	    type != PTHREAD_MUTEX_ERRORCHECK &&
	    robust == PTHREAD_MUTEX_STALLED && protocol == PTHREAD_PRIO_NONE)
		return;
	f = fib_caller();
	if (f)
		fib_hook_enter(f);
	fib_tids_real(f != NULL);
	if (f)
		fib_hook_leave(f);
}

#define SETTER(name)                                                           \
	__attribute__((visibility("default"))) int name(                       \
		pthread_mutexattr_t *a, int value)                             \
	{                                                                      \
		int r = FIB_LIBC_CALL(name, a, value);                         \
                                                                               \
		if (r == 0)                                                    \
			look(a);                                               \
		return r;                                                      \
	}

SETTER(pthread_mutexattr_setpshared)
SETTER(pthread_mutexattr_settype)
SETTER(pthread_mutexattr_setrobust)
SETTER(pthread_mutexattr_setprotocol)
