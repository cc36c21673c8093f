/*
 * Ground floor: attributes, doubly linked lists, the lock, panics, memory.
 *
 * Nothing here calls libc. Everything may be called from a fiber or from a
 * worker's own stack. The lock sleeps in the kernel when it is contended, so
 * it must never be held across a park.
 */
#ifndef FIB_BASE_H
#define FIB_BASE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <string.h>
#include "runtime/arch/x86_64/raw.h"

#define fib_likely(x)	__builtin_expect(!!(x), 1)
#define fib_unlikely(x) __builtin_expect(!!(x), 0)
#define fib_container_of(p, type, member)                                      \
	((type *)((char *)(p)-offsetof(type, member)))
#define FIB_ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))
/*
 * Pointers to functions, and what else does not change any more once the
 * runtime has started: pages of their own, which are then for reading alone
 * (preload/activate.c). The library beside it has no such pages.
 */
#ifdef FIB_PRELOAD
#define FIB_SEALED __attribute__((section(".fib_sealed")))
#else
#define FIB_SEALED
#endif
#define FIB_ALIGN_UP(x, a) (((x) + (a)-1) & ~((a)-1))
#define FIB_PAGE	   4096ul
#define FIB_NSEC_PER_SEC   1000000000ull
#define FIB_NEVER	   UINT64_MAX /* as in fib.h */

/* atomics: the memory order is always named at the use */
#define fib_load(p, order) atomic_load_explicit((p), memory_order_##order)
#define fib_store(p, v, order)                                                 \
	atomic_store_explicit((p), (v), memory_order_##order)

/*
 * While the process has one thread, nobody comes between a load and a store,
 * and what changes a word needs no locked instruction. glibc knows: it clears
 * __libc_single_threaded before it makes the first thread, and what was written
 * until then that thread sees, since making it is a barrier. Each change looks
 * anew, so a lock may be taken in one way and given back in the other. Fibers
 * are no threads, and no function of the library is for signal handlers.
 * Under the preload workers are threads that glibc does not know of; before 2.32
 * glibc does not tell.
 */
#if defined(FIB_PRELOAD) || !__has_include(<sys/single_threaded.h>)
#define fib_one_thread() false
#else
#include <sys/single_threaded.h>
#define fib_one_thread() (__libc_single_threaded != 0)
#endif

#define FIB_CHANGE_(p, is, other)                                              \
	({                                                                     \
		__auto_type p_ = (p);                                          \
		bool one_ = fib_one_thread();                                  \
		__auto_type was_ = one_ ? fib_load(p_, relaxed) : (other);     \
                                                                               \
		if (one_)                                                      \
			fib_store(p_, (is), relaxed);                          \
		was_;                                                          \
	})
#define fib_xchg(p, v, order)                                                  \
	FIB_CHANGE_(p, v,                                                      \
		    atomic_exchange_explicit(p_, (v), memory_order_##order))
#define fib_add(p, v, order)                                                   \
	FIB_CHANGE_(p, was_ + (v),                                             \
		    atomic_fetch_add_explicit(p_, (v), memory_order_##order))
#define fib_sub(p, v, order)                                                   \
	FIB_CHANGE_(p, was_ - (v),                                             \
		    atomic_fetch_sub_explicit(p_, (v), memory_order_##order))
#define fib_or(p, v, order)                                                    \
	FIB_CHANGE_(p, was_ | (v),                                             \
		    atomic_fetch_or_explicit(p_, (v), memory_order_##order))
#define fib_and(p, v, order)                                                   \
	FIB_CHANGE_(p, was_ &(v),                                              \
		    atomic_fetch_and_explicit(p_, (v), memory_order_##order))
/* *@old is what was found. @order is that of success. */
#define fib_cas(p, old, v, order)                                              \
	({                                                                     \
		__auto_type p_ = (p);                                          \
		__auto_type old_ = (old);                                      \
		__auto_type found_ = *old_;                                    \
		bool done_;                                                    \
                                                                               \
		if (fib_one_thread()) {                                        \
			found_ = fib_load(p_, relaxed);                        \
			done_ = found_ == *old_;                               \
			if (done_)                                             \
				fib_store(p_, (v), relaxed);                   \
		} else {                                                       \
			done_ = atomic_compare_exchange_strong_explicit(       \
				p_, &found_, (v), memory_order_##order,        \
				memory_order_relaxed);                         \
		}                                                              \
		*old_ = found_;                                                \
		done_;                                                         \
	})
#define fib_fence(order)                                                       \
	do {                                                                   \
		if (fib_one_thread())                                          \
			atomic_signal_fence(memory_order_##order);             \
		else                                                           \
			atomic_thread_fence(memory_order_##order);             \
	} while (0)
#define fib_barrier() atomic_signal_fence(memory_order_seq_cst)

/* --- files --------------------------------------------------------------- */

/* Which file a descriptor is: its number may be another's later. */
struct fib_file {
	bool known;
	uint64_t dev, ino, rdev;
};

/** What @fd is now; not known if it is closed. */
void fib_file_note(struct fib_file *file, int fd);
/** Is @fd still what it was? */
bool fib_file_is(const struct fib_file *file, int fd);

/*
 * What standard error was when the library was loaded: nothing of ours is
 * written to what has its number now, which may be a file of data.
 */
extern struct fib_file fib_stderr __attribute__((visibility("hidden")));

/**
 * End the process with SIGABRT, and a message on stderr: under the preload on
 * fib_stderr alone.
 */
void fib_panic(const char *what, const char *file, int line)
	__attribute__((noreturn, cold));

#define fib_assert(cond)                                                       \
	do {                                                                   \
		if (fib_unlikely(!(cond)))                                     \
			fib_panic(#cond, __FILE__, __LINE__);                  \
	} while (0)

/* --- lists ------------------------------------------------------------- */

struct fib_list {
	struct fib_list *next, *prev;
};

static inline void fib_list_init(struct fib_list *l)
{
	l->next = l->prev = l;
}

static inline bool fib_list_empty(const struct fib_list *l)
{
	return l->next == l;
}

static inline void fib_list_add_tail(struct fib_list *head, struct fib_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/** Unlinks @n and leaves it pointing at itself: unlinking twice is harmless. */
static inline void fib_list_del(struct fib_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	fib_list_init(n);
}

/** All of @from to the end of @to. */
static inline void fib_list_move(struct fib_list *to, struct fib_list *from)
{
	if (fib_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	fib_list_init(from);
}

#define fib_list_for_each(it, head)                                            \
	for (struct fib_list *it = (head)->next, *it##_next = it->next;        \
	     it != (head); it = it##_next, it##_next = it->next)

/* --- lock -------------------------------------------------------------- */

/* 0: free, 1: held, 2: held and somebody may sleep on it */
struct fib_lock {
	_Atomic int word;
};

void fib_lock_slow(struct fib_lock *l);
/** The lock, or false after @ms: for who can do without. */
bool fib_lock_within(struct fib_lock *l, unsigned ms);
/**
 * The caller has waited for one lock for @turns of 100 ms; 0: it has it now. A
 * process that was stopped meanwhile has waited one turn. watch.c
 */
void fib_lock_late(unsigned turns);
#define FIB_LATE_NS 100000000
void fib_unlock_slow(struct fib_lock *l);

static inline bool fib_trylock(struct fib_lock *l)
{
	int free = 0;

	return fib_cas(&l->word, &free, 1, acquire);
}

static inline void fib_lock(struct fib_lock *l)
{
	if (fib_unlikely(!fib_trylock(l)))
		fib_lock_slow(l);
}

static inline void fib_unlock(struct fib_lock *l)
{
	if (fib_unlikely(fib_xchg(&l->word, 0, release) == 2))
		fib_unlock_slow(l);
}

/* --- calls that a layer below may have to know of ------------------------- */

/*
 * A program that uses the library may run under the preload: what blocks, and
 * what ends a descriptor, goes through libc then.
 */
#ifdef FIB_PRELOAD
#define fib_call(...) fib_raw(__VA_ARGS__)
#else
long fib_call6(long nr, long a, long b, long c, long d, long e, long f);
#define FIB_CALL_(nr, a, b, c, d, e, f, ...)                                   \
	fib_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
		  (long)(f))
#define fib_call(...) FIB_CALL_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#endif

/* --- memory ------------------------------------------------------------ */

/** Zeroed pages straight from the kernel, or NULL. */
void *fib_pages_alloc(size_t bytes);
void fib_pages_free(void *p, size_t bytes);

/* --- clock ------------------------------------------------------------- */

/** Find the vdso; before that, and without one, the kernel is asked. */
void fib_clock_init(uintptr_t sysinfo_ehdr);
/** CLOCK_MONOTONIC in nanoseconds. Any stack, any thread. */
uint64_t fib_now_ns(void);
/** Any clock in nanoseconds, or -errno. */
int64_t fib_clock_ns(int clock);

/** @a + @b, FIB_NEVER where that overflows. */
static inline uint64_t fib_ns_add(uint64_t a, uint64_t b)
{
	return a > FIB_NEVER - b ? FIB_NEVER : a + b;
}

#endif
