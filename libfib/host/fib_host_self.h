/*
 * libfib: who runs here, and what its threads may do. See runtime/host.h;
 * included at the end of runtime/sched.h.
 *
 * A worker is a thread of libc's, and a thread variable of its is the worker.
 * There are as many schedulers as the program makes.
 */
#ifndef FIB_HOST_SELF_H
#define FIB_HOST_SELF_H

#define FIB_HOST_SCHEDULER NULL
#define fib_sched_of(x)	   ((x)->lib.sched)

/* There is nobody above who wants to be called. */
#define fib_host ((const struct fib_host){ 0 })

/*
 * A scheduler with one worker: nobody steals from it, so its queue needs no
 * lock, and while it runs nobody sleeps who could be woken. What comes from
 * outside goes through the injection queue.
 */
static inline bool fib_runq_alone(const struct fib_sched *s)
{
	return s->lib.threads == 1;
}

/* --- who am I? ------------------------------------------------------------- */

/*
 * A fiber that parks may go on in another thread, so no address of a thread
 * variable may live across a park: qemu's coroutine-tls.h has the story.
 */
extern __thread struct fib_worker *fib_this_worker
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct fib_worker *fib_worker_self(void)
{
	return fib_tls_read(fib_this_worker);
}

void fib_worker_set(struct fib_worker *w);

static inline struct fib *fib_self(void)
{
	struct fib_worker *w = fib_worker_self();

	return w ? w->cur : NULL;
}

static inline struct fib_sched *fib_sched_here(void)
{
	return fib_worker_self()->lib.sched;
}

static inline struct fib *fib_top_of(struct fib *f)
{
	return f->lib.top;
}

int fib_errno_save(void);
void fib_errno_restore(int saved);

/* --- kernel threads --------------------------------------------------------- */

/* A filter of the program's holds for its own calls: nothing is known of it. */
static inline bool fib_filtered(void)
{
	return false;
}

/* No fiber is bound, so nobody summons. */
static inline bool fib_host_summoned(const struct fib_worker *w)
{
	return false;
}

static inline bool fib_host_has_tsc(const struct fib_worker *w)
{
	return true;
}

/* It is cancelled, and no shield is up: libfib/cancel.c. */
static inline bool fib_host_attention(const struct fib *f)
{
	return fib_load(&f->attention, acquire) == FIB_CANCELED;
}

/* A stop ends nothing here. */
static inline bool fib_host_stopped(const struct fib *f)
{
	return false;
}

/* --- fibers ------------------------------------------------------------------ */

static inline void fib_host_prefetch(const struct fib *f)
{
}

static inline void fib_host_renew(struct fib *f)
{
	f->lib.top = f;
}

#endif
