/*
 * The preload: who runs here, and what its kernel threads may do. See
 * runtime/host.h; included at the end of runtime/sched.h.
 *
 * A worker is a bare kernel thread, without TLS, and its gs base is the worker. From
 * the start on that of every other kernel thread is fib_nobody, so that who asks need
 * not know. There is one scheduler.
 */
#ifndef FIB_HOST_SELF_H
#define FIB_HOST_SELF_H

#include "runtime/bare.h"

/* Workers, threads, descriptors: all belong to this one. runtime/below.c */
extern struct fib_sched fib_sched;
#define FIB_HOST_SCHEDULER (&fib_sched)
#define fib_sched_of(x)	   ((void)(x), &fib_sched)

extern const struct fib_host fib_host;

/*
 * libc's text, if it was compiled for the baseline of the architecture: at its
 * system calls no other vector register is live, since its callers expect none of
 * them back. The preload's: fib_baseline_find().
 */
struct fib_baseline {
	uintptr_t from, size;
};
extern struct fib_baseline fib_baseline;

/* A spare may come at any time. */
static inline bool fib_runq_alone(const struct fib_sched *s)
{
	return false;
}

/* --- who am I? ------------------------------------------------------------- */

/* The head of a struct fib_worker, of whom is none: self and cur. */
extern void *const fib_nobody[2] __attribute__((visibility("hidden")));

static inline struct fib_worker *fib_worker_self(void)
{
	return fib_host_word(offsetof(struct fib_worker, self));
}

static inline void fib_worker_set(struct fib_worker *w)
{
	fib_host_reg_set(w ? (uintptr_t)w : (uintptr_t)fib_nobody);
}

/**
 * The calling fiber, or NULL if the caller is none. Not by way of the worker:
 * between two loads a signal's handler may park, and go on elsewhere.
 */
static inline struct fib *fib_self(void)
{
	return fib_host_word(offsetof(struct fib_worker, cur));
}

static inline struct fib_sched *fib_sched_here(void)
{
	return &fib_sched;
}

static inline struct fib *fib_top_of(struct fib *f)
{
	return f;
}

/* errno lies in the TLS that is switched with the fiber. */
static inline int fib_errno_save(void)
{
	return 0;
}

static inline void fib_errno_restore(int saved)
{
}

/* Signals, to be looked for at the hook's end. */
static inline bool fib_host_attention(const struct fib *f)
{
	return fib_load(&f->attention, acquire);
}

/* A stop has ended its call, which comes before its time: hooks/signal/stop.c. */
static inline bool fib_host_stopped(const struct fib *f)
{
	uint8_t stop = fib_load(&f->io.stop, relaxed);

	return (stop == FIB_STOP_ENDED || stop == FIB_STOP_REPEATED) &&
	       fib_host_attention(f);
}

/*
 * What @f has waited for is there, and the kernel makes the call: that begins anew after a
 * stop by itself, or leaves it at a part. So who marks what is to begin anew leaves it
 * alone: hooks/signal/stop.c. False: it was marked before, and begins anew.
 */
static inline bool fib_host_stop_is_kernels(struct fib *f)
{
	uint8_t stop = fib_load(&f->io.stop, relaxed);

	if (stop == FIB_STOP_REPEATS)
		fib_cas(&f->io.stop, &stop, FIB_STOP_NOTHING, relaxed);
	return stop != FIB_STOP_REPEATED;
}

/* --- kernel threads --------------------------------------------------------- */

static inline bool fib_filtered(void)
{
	struct fib_worker *w = fib_worker_self();

	return w && w->process.filtered;
}

/* A thread under a filter has its errands run by the messenger. */
static inline bool fib_host_sends(uint32_t errand)
{
	if (fib_likely(!fib_filtered()))
		return false;
	fib_messenger_send(errand, 0);
	return true;
}

static inline bool fib_host_summoned(const struct fib_worker *w)
{
	return fib_load(&w->summoned, relaxed);
}

static inline void fib_host_prefetch(const struct fib *f)
{
	if (f->wait == FIB_WAIT_FD && fib_host.prefetch)
		fib_host.prefetch(f);
}

static inline uint16_t fib_host_call_of(const struct fib *f)
{
	return f->hook.call;
}

static inline bool fib_host_has_tsc(const struct fib_worker *w)
{
	return !w->process.strict;
}

/* --- fibers ------------------------------------------------------------------ */

static inline void fib_host_renew(struct fib *f)
{
	fib_store(&f->hook.in_hook, 0, relaxed);
	f->hook.door = FIB_DOOR_NONE;
	f->hook.restore_mask = FIB_MASK_NONE;
	f->hook.restarted = 0;
	fib_store(fib_shared(&f->hook.call), 0, relaxed); /* watch.c */
	fib_store(&f->hook.cancelled, 0, relaxed);
	f->hook.regs = NULL;
}

/* A fiber of the engine's own: a kick's handler leaves it alone. */
static inline void fib_host_shield(struct fib *f)
{
	fib_store(&f->hook.in_hook, 1, relaxed);
}

/* Reads of @f by the monitor, which may be one call late. */
static inline uint32_t fib_host_progress(const struct fib *f)
{
	return fib_load(fib_shared(&f->hook.calls), relaxed) |
	       (uint32_t)fib_load(fib_shared(&f->hook.call), relaxed) << 8;
}

static inline bool fib_host_in_runtime(const struct fib_worker *w,
				       const struct fib *f)
{
	return f ? fib_load(&f->hook.in_hook, relaxed) :
		   !w->bound && !fib_load(&w->idle, relaxed) &&
			       !fib_load(&w->spare, relaxed);
}

#endif
