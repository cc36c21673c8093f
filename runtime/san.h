/*
 * What the sanitizers must be told of a switch between stacks. Empty in any
 * other build.
 *
 * AddressSanitizer wants the bounds of the stack that is entered and keeps a
 * pointer of its own for the one that is left; it tells the bounds of a stack
 * that nobody else knows (a thread's own) when that stack is left.
 * ThreadSanitizer has an object for each flow of control. A switch counts as
 * synchronisation between the two, as it should: it stays in one thread.
 *
 *	fib_san_leave(from, to, dies)	just before the switch
 *	fib_san_enter(self, from)	first thing after it, on the new stack
 */
#ifndef FIB_SAN_H
#define FIB_SAN_H

#include <stdbool.h>
#include <stddef.h>

#include "fib_host_base.h" /* FIB_ASAN, FIB_TSAN */

struct fib_san {
#ifdef FIB_ASAN
	void *fake;
	const void *bottom;
	size_t size;
#endif
#ifdef FIB_TSAN
	void *flow;
#endif
};

#ifdef FIB_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIB_TSAN
#include <sanitizer/tsan_interface.h>
/* sanitizer/linux_syscall_hooks.h, which gcc does not install */
void __sanitizer_syscall_pre_impl_close(long fd);
#endif
/* Mappings that come and go must be seen: their shadow starts anew. */
#if defined(FIB_ASAN) || defined(FIB_TSAN)
#define FIB_SAN_MAPS 1
#else
#define FIB_SAN_MAPS 0
#endif

/*
 * Valgrind takes a step from one stack to another for a stack that grows or
 * shrinks, unless it was told of both: fib_valgrind(), with one of these.
 */
enum {
	FIB_VG_RUNNING = 0x1001,
	FIB_VG_STACK = 0x1501, /* lowest, highest address: its id */
	FIB_VG_STACK_GONE = 0x1502,
	FIB_VG_UNDEFINED = 0x4d430001, /* memcheck: address, size */
};

static inline void fib_san_leave(struct fib_san *from, struct fib_san *to,
				 bool dies)
{
	(void)from, (void)to, (void)dies;
#ifdef FIB_ASAN
	__sanitizer_start_switch_fiber(dies ? NULL : &from->fake, to->bottom,
				       to->size);
#endif
#ifdef FIB_TSAN
	__tsan_switch_to_fiber(to->flow, 0);
#endif
}

/** @from, where whoever is entered must be told of it; else nothing. */
static inline void fib_san_note(struct fib_san **note, struct fib_san *from)
{
	(void)note, (void)from;
#ifdef FIB_ASAN
	*note = from;
#endif
}

static inline void fib_san_enter(struct fib_san *self, struct fib_san *from)
{
	(void)self, (void)from;
#ifdef FIB_ASAN
	__sanitizer_finish_switch_fiber(self->fake, &from->bottom, &from->size);
#endif
}

/** A flow that does not run yet, on a stack of our own. */
static inline void fib_san_create(struct fib_san *s, void *stack, size_t size)
{
	(void)s, (void)stack, (void)size;
#ifdef FIB_ASAN
	s->fake = NULL;
	s->bottom = stack;
	s->size = size;
#endif
#ifdef FIB_TSAN
	s->flow = __tsan_create_fiber(0);
#endif
}

/** The flow that runs now. */
static inline void fib_san_adopt(struct fib_san *s)
{
	(void)s;
#ifdef FIB_TSAN
	s->flow = __tsan_get_current_fiber();
#endif
}

/** A flow that was left for good. */
static inline void fib_san_destroy(struct fib_san *s)
{
	(void)s;
#ifdef FIB_ASAN
	/* Frames that were never returned from have left poison behind. */
	__asan_unpoison_memory_region((void *)s->bottom, s->size);
#endif
#ifdef FIB_TSAN
	__tsan_destroy_fiber(s->flow);
#endif
}

/* @fd is about to be closed: who gets its number next has nothing to do with it. */
static inline void fib_san_close(int fd)
{
	(void)fd;
#ifdef FIB_TSAN
	__sanitizer_syscall_pre_impl_close(fd);
#endif
}

#endif
