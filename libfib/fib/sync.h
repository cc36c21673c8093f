/*
 * Mutex, condition, semaphore, channel, select.
 * A part of fib.h, which is to be included: its conventions hold.
 */
#ifndef FIB_SYNC_H
#define FIB_SYNC_H

#ifndef FIB_H
#error "include <fib.h>"
#endif

/* --- mutex, condition, semaphore --------------------------------------------- */

/*
 * Between fibers, of one or several schedulers, and threads. The fields are the
 * library's. Destroying needs no call: nobody may use it any more.
 */
struct fib_mutex {
	uint32_t word;
	uint32_t reserved;
	uint64_t owner;
};
#define FIB_MUTEX_INIT                                                         \
	{                                                                      \
		0, 0, 0                                                        \
	}

FIB_API void fib_mutex_init(struct fib_mutex *m);
/** 0; -EDEADLK: the caller has it. */
FIB_API int fib_mutex_lock(struct fib_mutex *m);
/** 0, -EBUSY. */
FIB_API int fib_mutex_trylock(struct fib_mutex *m);
/** 0, -EDEADLK, -ETIMEDOUT. */
FIB_API int fib_mutex_timedlock(struct fib_mutex *m, uint64_t timeout_ns);
/** 0; -EPERM: the caller does not have it. */
FIB_API int fib_mutex_unlock(struct fib_mutex *m);

struct fib_cond {
	uint32_t lock;
	uint32_t waiting;
	void *waiters[2];
};
#define FIB_COND_INIT                                                          \
	{                                                                      \
		0, 0,                                                          \
		{                                                              \
			0, 0                                                   \
		}                                                              \
	}

FIB_API void fib_cond_init(struct fib_cond *c);
/**
 * Give @m back, wait to be signalled, and take @m again: 0 or -ETIMEDOUT, with
 * @m held; -EPERM: the caller does not have @m. May return without a signal.
 */
FIB_API int fib_cond_wait(struct fib_cond *c, struct fib_mutex *m,
			  uint64_t timeout_ns);
/** 0. The mutex need not be held. */
FIB_API int fib_cond_signal(struct fib_cond *c);
FIB_API int fib_cond_broadcast(struct fib_cond *c);

struct fib_sem {
	uint32_t value;
	uint32_t waiters;
};
#define FIB_SEM_INIT(n)                                                        \
	{                                                                      \
		(n), 0                                                         \
	}

FIB_API void fib_sem_init(struct fib_sem *sem, uint32_t value);
/** Take one: 0 or -ETIMEDOUT (with a timeout of 0: there is none). */
FIB_API int fib_sem_wait(struct fib_sem *sem, uint64_t timeout_ns);
/** 0; -EOVERFLOW. */
FIB_API int fib_sem_post(struct fib_sem *sem);

/* --- channel ------------------------------------------------------------------ */

/* A queue of values of one size between any fibers, tasks and threads. */
struct fib_channel;

/**
 * fib_channel_create - for values of @size bytes, of which @capacity wait in it
 *
 * With @capacity 0 a send waits until a receiver has taken the value. 0,
 * -EINVAL, -ENOMEM.
 */
FIB_API int fib_channel_create(struct fib_channel **out, size_t size,
			       size_t capacity);
/** 0; -EBUSY: somebody waits in it. */
FIB_API int fib_channel_destroy(struct fib_channel *c);
/** Copy *@value in: 0, -ETIMEDOUT (not sent), -EPIPE: closed (not sent). */
FIB_API int fib_channel_send(struct fib_channel *c, const void *value,
			     uint64_t timeout_ns);
/**
 * Take the oldest value out, to *@value: 0, -ETIMEDOUT, -EPIPE: it is closed
 * and empty.
 */
FIB_API int fib_channel_recv(struct fib_channel *c, void *value,
			     uint64_t timeout_ns);
/** Nothing more is sent; what is in it can be received. 0. */
FIB_API int fib_channel_close(struct fib_channel *c);
/** Values that wait in it. */
FIB_API size_t fib_channel_count(const struct fib_channel *c);

/* --- select ------------------------------------------------------------------- */

enum fib_select_op {
	FIB_SELECT_NONE = 0,  /* never ready */
	FIB_SELECT_RECV = 1,  /* channel: receive to *value */
	FIB_SELECT_SEND = 2,  /* channel: send *value */
	FIB_SELECT_READ = 3,  /* fd: readable */
	FIB_SELECT_WRITE = 4, /* fd: writable */
	FIB_SELECT_TIME = 5   /* at_ns of CLOCK_MONOTONIC has come */
};

struct fib_case {
	int op; /* enum fib_select_op */
	int fd;
	struct fib_channel *channel;
	void *value;
	uint64_t at_ns;
	int result; /* of the case that was taken */
};

#define FIB_SELECT_MAX 1024

/**
 * fib_select - wait for several things, and do the first that can be done
 * @cases:	up to FIB_SELECT_MAX; may name a channel or a descriptor twice
 *
 * One case is taken, and no other has any effect: a value is sent or received by
 * that case alone. Of several that are ready at once it is the first in @cases. Its
 * result is 0; -EPIPE: the channel is closed, and when receiving empty; -EBADF: the
 * descriptor is not open, or was closed with fib_close(). A descriptor is ready as
 * poll(2) sees it, and nothing is read or written; another may be faster then, so
 * give the call that follows a timeout.
 *
 * For fibers, tasks and threads. A thread's own, or a fiber resumed by hand there,
 * that names a descriptor is waited for in a thread of the library's.
 *
 * The index of the case; -ETIMEDOUT, -ECANCELED: none was taken; -EINVAL, -ENOMEM,
 * -ENOSPC, -EAGAIN: none could be had of what it takes, and none was taken.
 */
FIB_API int fib_select(struct fib_case *cases, unsigned n, uint64_t timeout_ns);

#endif
