/*
 * What the engine has for a host below libc, and no other links: workers on bare
 * kernel threads (bare.c), fibers that have one to themselves (dedicated.c), and
 * kernel threads beside the workers: the monitor (monitor.c, watch.c) and the
 * messenger. The host includes this where runtime/host.h has it say who it is;
 * sched.h tells what they are for, and docs/LOCKS.md their locks.
 */
#ifndef FIB_BARE_H
#define FIB_BARE_H

struct clone_args;

/* --- a start, and kernel threads: bare.c --------------------------------------- */

/**
 * Start @s with @n workers and the calling thread as the first: it goes on as
 * fiber @first, which is RUNNING when the second returns. @s has its
 * descriptors (fib_iom_init()), and is watched by the monitor, of which a
 * process has one (fib_monitor_init()). All that can fail is in the first, 0 or
 * -errno, which leaves nothing behind if it does, and can be undone; then the
 * rest cannot fail: where the kernel has no more threads to give, there are
 * fewer workers.
 */
int fib_sched_prepare(struct fib_sched *s, unsigned n);
void fib_sched_cancel(struct fib_sched *s);
void fib_sched_run(struct fib_sched *s, struct fib *first);
/** In a fork child: @s does not run any more, and may start anew. */
void fib_sched_forget(struct fib_sched *s);

/** The host's side of a worker's kernel thread: runtime/host.h. */
bool fib_bare_stack(struct fib_worker *w);
int fib_bare_start(struct fib_worker *w);
void fib_bare_begins(struct fib_worker *w);
/**
 * Until it has ended, and the kernel has forgotten it. @last_tid is @w->last_tid,
 * read before it was told to end: another may have its slot by now.
 */
void fib_bare_join(struct fib_worker *w, int last_tid);
/** Until the kernel has forgotten thread @tid, which has left its stack. */
void fib_bare_forgotten(int tid);
/** Memory for a kernel thread's stack, with a guard below: its top, or NULL. */
void *fib_thread_stack(size_t size);
/** clone.S: a kernel thread that runs fn(arg), and ends: its id or -errno. */
long fib_thread_clone(unsigned long flags, void *stack_top, _Atomic int *tid,
		      void (*fn)(void *), void *arg);
long fib_thread_clone3(struct clone_args *args, size_t size, void (*fn)(void *),
		       void *arg);
#define FIB_THREAD_FLAGS                                                       \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |    \
	 CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
/* include/linux/errno.h of the kernel */
#define FIB_ERESTARTNOINTR 513 /* again, whatever ran */
/**
 * fib_raw6(), but -FIB_ERESTARTNOINTR if *@stop is set, or a kick comes, before the kernel
 * is entered; after that, a kick ends it as signals do. raw.S
 */
long fib_raw_intr(const _Atomic uint32_t *stop, long nr, const long a[6]);

/* --- workers that come and go: dedicated.c -------------------------------------- */

/**
 * One more worker with a kernel thread, cloned from the caller's, for @bound
 * alone or for all (NULL). NULL: no resources.
 */
struct fib_worker *fib_worker_create(struct fib_sched *s, struct fib *bound);
/** @w, the caller's, was summoned: it is bound now, or ends. */
void fib_worker_answer(struct fib_worker *w);
/**
 * The kernel has killed @w's thread in a call of its fiber's, which @w was bound
 * to: the fiber has ended. The monitor's thread alone.
 */
void fib_worker_bury(struct fib_worker *w);
/** The caller's kernel thread, @w's, ends. */
void fib_worker_end(struct fib_worker *w);
/** So does that of a fiber of the engine's own, as if it had not been there. */
void fib_worker_quit(struct fib_worker *w);

/** Bind the calling fiber to a kernel thread: 0 or -errno. */
int fib_bind_self(void);
/**
 * Bind @f, which was never launched, to a new kernel thread, cloned from the
 * caller's: 0 or -errno, as the kernel has it.
 */
int fib_bind(struct fib *f);
/** The fiber that is bound to kernel thread @tid and has its id, or NULL. */
struct fib *fib_bound_to(int tid);

/**
 * The caller, bound to the first kernel thread, is the last fiber: all other
 * kernel threads of ours end before this returns.
 */
void fib_sched_end_others(struct fib_sched *s);
/**
 * No fiber runs on an unbound worker any more: those there are, the monitor and
 * the messenger end, and others take their place, cloned from the caller's kernel
 * thread, so that they may do no more than that. The caller, which is bound, is
 * @s->model then.
 */
void fib_sched_renew(struct fib_sched *s);

/* --- beside the workers: monitor.c, spares.c, watch.c, messenger.c ------------- */

/**
 * The descriptor that wakes the monitor of @s, which has its own; it polls
 * @receiver_fd as well (-1: none). 0 or -errno.
 */
int fib_monitor_init(struct fib_sched *s, int receiver_fd);
/**
 * Its thread, which waits until it is told to go, or to end: then it has ended,
 * and its descriptor is closed.
 */
int fib_monitor_start(struct fib_sched *s);
void fib_monitor_go(void);
void fib_monitor_end(void);
/** The monitor's thread alone: what it polls; -1: it looks each tick. */
int fib_monitor_receiver(void);
void fib_monitor_set_receiver(int fd);
/** It leaves its sleep, and looks at the workers. */
void fib_monitor_wake(void);
/** The same, and the host's receiver is to look as well: for what was said before. */
void fib_monitor_poke(void);
/** The scheduler's bell has number @to as well now. */
void fib_monitor_bell_moved(int to);
/**
 * While the caller's worker is there it looks each tick: that may not poke it, or may be
 * killed.
 */
void fib_monitor_keep_awake(void);
void fib_monitor_forget(void);
/** Another one, cloned from the caller's kernel thread. 0 or -errno. */
int fib_monitor_renew(struct fib_sched *s);
/** Real-time priority for the monitor, if the process may have it. */
void fib_monitor_urgent(void);
extern _Atomic uint32_t fib_monitor_asleep;
extern _Atomic uint32_t fib_monitor_tid;
/** watch.c: does a worker not come out of the runtime? Each tick. */
void fib_watch(struct fib_sched *s);
/** Put one more worker to work: one that has retired, or a new one. NULL: there is none. */
struct fib_worker *fib_start_spare(struct fib_sched *s);
/**
 * Around a kernel call that may block for long: others need a worker. @briefly: it
 * hardly will, and the monitor need not come before its next tick.
 */
void fib_block_enter(bool briefly);
void fib_block_leave(void);

/* --- the messenger: messenger.c ------------------------------------------------- */

/*
 * A kernel thread under a filter may not write to the descriptors that wake
 * others: it wakes this thread by a futex, which does it in its place. 0 or
 * -errno.
 */
int fib_messenger_start(void);
/** Another one, if there is one, cloned from the caller's kernel thread: so. */
int fib_messenger_renew(void);
enum fib_errand {
	FIB_ERRAND_NOTIFY = 1, /* an idle worker */
	FIB_ERRAND_POKE = 2,   /* the monitor */
	FIB_ERRAND_END = 4,    /* the process, with @status */
	FIB_ERRAND_LEAVE = 8,  /* the messenger: its kernel thread ends */
	FIB_ERRAND_KICK = 16,  /* bound workers that poll, and are ready */
};
void fib_messenger_send(uint32_t errand, int status);
/** Is an errand there that it has not taken yet? */
bool fib_messenger_is_sent(void);
/** The monitor's: for who has left an errand there, and could wake nobody. */
void fib_messenger_hurry(void);
/** It is to end, if there is one: its worker is to be joined. */
void fib_messenger_end(void);
void fib_messenger_forget(void);

#endif
