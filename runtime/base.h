/*
 * Ground floor: attributes, atomics, panics, doubly linked lists, memory, the
 * clock. The lock is in lock.h.
 *
 * Nothing here calls libc. Everything may be called from a fiber or from a
 * worker's own stack.
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
#include <time.h>
#include "cpu_arch.h"
#include "raw_arch.h"
#include "fib_host_base.h"

#define fib_likely(x)	__builtin_expect(!!(x), 1)
#define fib_unlikely(x) __builtin_expect(!!(x), 0)
#define fib_container_of(p, type, member)                                      \
	((type *)((char *)(p)-offsetof(type, member)))
#define FIB_ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))
#define FIB_ALIGN_UP(x, a) (((x) + (a)-1) & ~((a)-1))
#define FIB_PAGE	   4096ul
#define FIB_NSEC_PER_SEC   1000000000ull
#define FIB_NEVER	   UINT64_MAX

/*
 * Atomics: the memory order is always named at the use. Where the host knows
 * that the process has one thread (fib_one_thread()), a change needs no locked
 * instruction.
 */
#define fib_load(p, order) atomic_load_explicit((p), memory_order_##order)
#define fib_store(p, v, order)                                                 \
	atomic_store_explicit((p), (v), memory_order_##order)
/*
 * A word that is not _Atomic, as others see it: its owner alone writes it, and
 * reads it as it is; or fib.h has it, which is for C++ as well.
 */
#define fib_shared(p) ((_Atomic __typeof__(*(p)) *)(p))

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

/*
 * Where lines of ours go instead; fd < 0: they do not. The number may move
 * (hidden.h).
 */
extern struct fib_line_out {
	_Atomic int fd;
	struct fib_file file;
} fib_line_out __attribute__((visibility("hidden")));

#define FIB_LINE_HEAD 96
/**
 * With what each line of ours begins, "fibhook[1234 nginx]: ", or for @syslog
 * "fibhook[1234]: nginx: ", to @to of FIB_LINE_HEAD bytes, without a NUL; how many.
 * From any thread.
 */
size_t fib_line_head(char *to, bool syslog);
/* While a filter might kill for asking: the process's id; else 0. */
extern long fib_line_pid __attribute__((visibility("hidden")));

/**
 * End the process with SIGABRT, and a message where lines of ours go: under the
 * preload on fib_stderr alone, or fib_line_out.
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

/** ns until @deadline_ns, 0 if it has passed. */
static inline uint64_t fib_ns_left(uint64_t deadline_ns)
{
	uint64_t now = deadline_ns ? fib_now_ns() : 0;

	return deadline_ns > now ? deadline_ns - now : 0;
}

/** @ns as the kernel wants it. */
static inline struct timespec fib_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / FIB_NSEC_PER_SEC),
				  (long)(ns % FIB_NSEC_PER_SEC) };
}

#include "runtime/lock.h"

#endif
