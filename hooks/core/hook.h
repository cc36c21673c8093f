/*
 * What every hook has to do with. One body, fib_sys_NAME(), for each call in
 * hooks.def, with the semantics of the kernel's call: >= 0 or -errno. Both doors
 * (exported symbol and rewritten site) lead there, through fib_hook_call().
 *
 * A body runs on the fiber's stack, on some worker, and may park; after a park
 * the worker may be another one. It calls no libc function and no malloc. It
 * may end with one of the codes below instead of a result; fib_hook_call()
 * then looks for signals and turns the code into EINTR or a repetition, as the
 * kernel does on its way back to user mode (kernel/signal.c).
 *
 * No locks. What is called here may be called by any fiber that is in a hook.
 */
#ifndef FIB_HOOK_H
#define FIB_HOOK_H

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include "runtime/fault.h"
#include "runtime/sched.h"

/* include/linux/errno.h of the kernel; FIB_ERESTARTNOINTR is in runtime/bare.h */
#define FIB_ERESTARTSYS	   512 /* EINTR, or again under SA_RESTART */
#define FIB_ERESTARTNOHAND 514 /* EINTR if a handler ran, else again */

/* The flags of a row; hooks.def says what they mean. */
#define FIB_RESTART  1
#define FIB_TELLS    2
#define FIB_TELLS_FD 4
#define FIB_FILES    8
#define FIB_PLAIN    16
#define FIB_ASKS     32

#define FIB_HOOK(nm, params, args, fl) long fib_sys_##nm params;
#include "hooks/hooks.def"

/**
 * The calling fiber, or NULL, also where text is rewritten and no fiber is run (in a
 * fork child, say): %gs may be the program's there.
 */
static inline struct fib *fib_caller(void)
{
	return fib_load(&fib_symtab.active, relaxed) ? fib_self() : NULL;
}

/** The kernel's own answer, in the midst of a body. */
static inline long fib_pass(long nr, const long a[6])
{
	return fib_raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/** Name of call @nr, or NULL if it has no row. */
const char *fib_call_name(unsigned nr);

/**
 * Around what else a fiber has the runtime do: in between no handler runs, and
 * it is not preempted. It may hold the runtime's locks there.
 */
static inline void fib_hook_enter(struct fib *f)
{
	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
	f->hook.door = FIB_DOOR_SYMBOL;
	f->hook.regs = NULL;
}

/**
 * The way out: false, and still inside, if there is something to see to first.
 * A kick that comes while in_hook is set is lost: so it looks afterwards.
 */
static inline bool fib_hook_try_leave(struct fib *f)
{
	fib_no_lock("a hook's end");
	fib_barrier();
	fib_store(&f->hook.in_hook, 0, relaxed);
	fib_barrier();
	if (fib_likely(!fib_load(&f->attention, acquire)))
		return true;
	fib_store(&f->hook.in_hook, 1, relaxed);
	fib_barrier();
	return false;
}

/** May a cancel act at the next place where it can? It waits, or its signal. */
static inline bool fib_cancel_is_near(void)
{
	const struct fib *f = fib_self();

	return fib_load(&f->hook.cancelled, acquire) ||
	       (fib_load(&f->sig.pending, relaxed) & 1ull << 31);
}

/** Where a thread at @rip goes on when it is kicked; @rip itself mostly. */
uintptr_t fib_raw_intr_fixup(uintptr_t rip);

/*
 * What the preload layer lends: libc's own functions, for the symbol door's
 * cancellation points. May unwind the stack instead of returning.
 */
struct fib_libc {
	void (*testcancel)(void);
	int (*setcancelstate)(int state, int *old);
	void (*fork_child)(void); /* in the child, when all else is reset */
	uintptr_t syscall_from, syscall_to; /* the function syscall() */
};
extern struct fib_libc fib_libc;

#endif
