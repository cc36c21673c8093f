/*
 * Attributes of mutexes that tell other processes who owns them: from the first
 * one on, new threads have ids that the kernel knows (hooks/thread.c).
 */
#include <dlfcn.h>
#include <pthread.h>
#include "hooks/hooks.h"
#include "preload/preload.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void look(const pthread_mutexattr_t *a)
{
	int shared = 0, type = 0, robust = 0, protocol = 0;
	struct fib *f;

	pthread_mutexattr_getpshared(a, &shared);
	if (shared != PTHREAD_PROCESS_SHARED || fib_options.disable)
		return;
	pthread_mutexattr_gettype(a, &type);
	pthread_mutexattr_getrobust(a, &robust);
	pthread_mutexattr_getprotocol(a, &protocol);
	if (type != PTHREAD_MUTEX_RECURSIVE &&
	    type != PTHREAD_MUTEX_ERRORCHECK &&
	    robust == PTHREAD_MUTEX_STALLED && protocol == PTHREAD_PRIO_NONE)
		return;
	f = fib_load(&fib_symtab.active, acquire) ? fib_caller() : NULL;
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
		static int (*real)(pthread_mutexattr_t *, int);                \
		int r;                                                         \
                                                                               \
		if (!real)                                                     \
			real = dlsym(RTLD_NEXT, #name);                        \
		r = real(a, value);                                            \
		if (r == 0)                                                    \
			look(a);                                               \
		return r;                                                      \
	}

SETTER(pthread_mutexattr_setpshared)
SETTER(pthread_mutexattr_settype)
SETTER(pthread_mutexattr_setrobust)
SETTER(pthread_mutexattr_setprotocol)
