/*
 * The ordinary door: exported functions in libc's place.
 *
 * Each one is libc's own function while the caller is no fiber (not activated,
 * a foreign thread, a vfork child), and a hook body otherwise. POSIX makes all
 * of them cancellation points: a cancel that is pending acts on entry, one that
 * comes while parked is dealt with in hooks/wait/wait.c.
 *
 * Where another library behind this one has a function in libc's place, that one is
 * called, as it would be without this library: what it calls in the end is libc's,
 * and comes by the other door.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/dispatch.h"
#include "hooks/fd/fd.h"
#include "hooks/process/process.h"
#include "hooks/signal/signal.h"
#include "preload/preload.h"
#include "preload/symbols.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

struct fib_real fib_real FIB_SEALED;
struct fib_foreign fib_foreign FIB_SEALED;

/* In the order of struct fib_real, and of struct fib_foreign. */
static const char names[] =
#define FIB_REAL(ret, name, types) #name "\0"
#define FIB_LIBC		   FIB_REAL
#define FIB_ALIAS(name, of)
#define FIB_OWN(name)
#define FIB_CALL2(ret, name, ...) FIB_REAL(ret, name, )
#define FIB_CALL3(ret, name, ...) FIB_REAL(ret, name, )
#define FIB_CALL4(ret, name, ...) FIB_REAL(ret, name, )
#define FIB_CALL6(ret, name, ...) FIB_REAL(ret, name, )
#include "preload/symbols.def"
	;
_Static_assert(sizeof(struct fib_real) / sizeof(void (*)(void)) ==
		       sizeof(struct fib_foreign) / sizeof(bool),
	       "one of each");

void fib_real_init(void)
{
	fib_lookup_all(names, &fib_real, (bool *)&fib_foreign);
}

#define CALL FIB_LIBC_CALL

/*
 * The calling fiber, or NULL: the kernel and libc answer, or another library that has
 * the function in libc's place.
 */
#define CALLER(name) (fib_unlikely(fib_foreign.name) ? NULL : fib_caller())

static long hooked(struct fib *f, unsigned nr, long a, long b, long c, long d,
		   long e, long g)
{
	const long args[6] = { a, b, c, d, e, g };
	long r;

	if (fib_unlikely(fib_load(&f->hook.cancelled, relaxed)))
		fib_real.pthread_testcancel();
	r = fib_hook_call(f, nr, args, FIB_DOOR_SYMBOL, NULL);
	if (fib_unlikely(r < 0)) {
		/* What failed has lost nothing: a cancel that came may act. */
		if (fib_unlikely(fib_load(&f->hook.cancelled, relaxed)))
			fib_real.pthread_testcancel();
		errno = (int)-r;
		return -1;
	}
	return r;
}

#define HOOKED_(nr, a, b, c, d, e, g, ...)                                     \
	hooked(f, (nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
	       (long)(g))
#define HOOKED(...) HOOKED_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* --- what is nothing but a call ------------------------------------------ */

#define PLAIN(ret, name, call, params, ...)                                    \
	ret name params                                                        \
	{                                                                      \
		struct fib *f = CALLER(name);                                  \
                                                                               \
		return f ? (ret)HOOKED(SYS_##call, __VA_ARGS__) :              \
			   CALL(name, __VA_ARGS__);                            \
	}
#define FIB_CALL2(ret, name, call, A, a, B, b)                                 \
	PLAIN(ret, name, call, (A a, B b), a, b)
#define FIB_CALL3(ret, name, call, A, a, B, b, C, c)                           \
	PLAIN(ret, name, call, (A a, B b, C c), a, b, c)
#define FIB_CALL4(ret, name, call, A, a, B, b, C, c, D, d)                     \
	PLAIN(ret, name, call, (A a, B b, C c, D d), a, b, c, d)
#define FIB_CALL6(ret, name, call, A, a, B, b, C, c, D, d, E, e, F, g)         \
	PLAIN(ret, name, call, (A a, B b, C c, D d, E e, F g), a, b, c, d, e, g)
#define FIB_ALIAS(name, of) __typeof__(of) name __attribute__((alias(#of)));
#define FIB_REAL(ret, name, types)
#define FIB_LIBC(ret, name, types)
#define FIB_OWN(name)
#include "preload/symbols.def"

/* --- with a length that is checked ---------------------------------------- */

void __chk_fail(void) __attribute__((noreturn));

ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	if (n > room)
		__chk_fail();
	return read(fd, buf, n);
}

ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	if (n > room)
		__chk_fail();
	return recv(fd, buf, n, flags);
}

ssize_t __recvfrom_chk(int fd, void *restrict buf, size_t n, size_t room,
		       int flags, struct sockaddr *restrict addr,
		       socklen_t *restrict len)
{
	if (n > room)
		__chk_fail();
	return recvfrom(fd, buf, n, flags, addr, len);
}

/* --- what has two ends ------------------------------------------------------ */

/* No cancellation points: from a fiber they come by the other door. */
static int made(int r, const int ends[2])
{
	if (r == 0 && !fib_load(&fib_symtab.active, relaxed))
		fib_fd_met_early(ends[0], ends[1]);
	return r;
}

int pipe(int ends[2])
{
	return made(CALL(pipe, ends), ends);
}

int pipe2(int ends[2], int flags)
{
	return made(CALL(pipe2, ends, flags), ends);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
	return made(CALL(socketpair, domain, type, protocol, ends), ends);
}

/* --- poll, select -------------------------------------------------------- */

/* The kernel writes the time that is left; the functions do not. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts,
	  const sigset_t *mask)
{
	struct fib *f = CALLER(ppoll);
	struct timespec copy;

	if (!f)
		return CALL(ppoll, fds, n, ts, mask);
	if (ts)
		copy = *ts;
	return (int)HOOKED(SYS_ppoll, fds, n, ts ? &copy : NULL, mask, 8);
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return poll(fds, n, timeout);
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts,
		const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		__chk_fail();
	return ppoll(fds, n, ts, mask);
}

/* libc's makes a pselect of it, and looks at half of tv_usec. */
int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
	   struct timeval *restrict tv)
{
	struct fib *f = CALLER(select);
	struct timespec ts;
	int us, ret;

	if (!f)
		return CALL(select, n, r, w, x, tv);
	if (!tv)
		return (int)HOOKED(SYS_select, n, r, w, x, NULL);
	us = (int)tv->tv_usec;
	ts.tv_sec = tv->tv_sec;
	if (us < 0 || ts.tv_sec < 0) {
		errno = EINVAL;
		return -1;
	}
	ts.tv_nsec = us % 1000000 * 1000;
	if (__builtin_add_overflow(ts.tv_sec, us / 1000000, &ts.tv_sec))
		ts = (struct timespec){ LONG_MAX, 999999999 };
	ret = (int)HOOKED(SYS_pselect6, n, r, w, x, &ts, NULL);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return ret;
}

int pselect(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
	    const struct timespec *restrict ts, const sigset_t *restrict mask)
{
	struct fib *f = CALLER(pselect);
	struct timespec copy;
	struct {
		const sigset_t *mask;
		size_t size;
	} sig = { mask, 8 };

	if (!f)
		return CALL(pselect, n, r, w, x, ts, mask);
	if (ts)
		copy = *ts;
	return (int)HOOKED(SYS_pselect6, n, r, w, x, ts ? &copy : NULL, &sig);
}

/* --- time ---------------------------------------------------------------- */

/*
 * The vDSO answers for most clocks; for those of threads it makes a system call
 * that is not ours to rewrite. Not cancellation points.
 */
static struct fib *owner_of_clock(clockid_t clock, bool foreign)
{
	return !foreign && (clock < 0 || clock == CLOCK_THREAD_CPUTIME_ID) ?
		       fib_caller() :
		       NULL;
}

static int not_cancelled(struct fib *f, unsigned nr, long x, void *y)
{
	const long a[6] = { x, (long)y };
	long r = fib_hook_call(f, nr, a, FIB_DOOR_SYMBOL, NULL);

	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : (int)r;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	struct fib *f = owner_of_clock(clock, fib_foreign.clock_gettime);

	return f ? not_cancelled(f, SYS_clock_gettime, clock, ts) :
		   CALL(clock_gettime, clock, ts);
}

int clock_getres(clockid_t clock, struct timespec *ts)
{
	struct fib *f = owner_of_clock(clock, fib_foreign.clock_getres);

	return f ? not_cancelled(f, SYS_clock_getres, clock, ts) :
		   CALL(clock_getres, clock, ts);
}

int sched_yield(void)
{
	struct fib *f = CALLER(sched_yield);

	return f ? not_cancelled(f, SYS_sched_yield, 0, NULL) :
		   CALL(sched_yield);
}

/* Returns the error, and leaves errno alone. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *want,
		    struct timespec *left)
{
	struct fib *f = CALLER(clock_nanosleep);
	long a[6] = { clock, flags, (long)want, (long)left };

	if (!f)
		return CALL(clock_nanosleep, clock, flags, want, left);
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return EINVAL;
	if (fib_unlikely(fib_load(&f->hook.cancelled, relaxed)))
		fib_real.pthread_testcancel();
	return (int)-fib_hook_call(f, SYS_clock_nanosleep, a, FIB_DOOR_SYMBOL,
				   NULL);
}

unsigned sleep(unsigned seconds)
{
	struct timespec ts = { seconds, 0 };
	int saved = errno;

	if (!CALLER(sleep) || fib_foreign.nanosleep)
		return CALL(sleep, seconds);
	if (nanosleep(&ts, &ts) < 0)
		return (unsigned)ts.tv_sec;
	errno = saved;
	return 0;
}

int usleep(useconds_t us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	return CALLER(usleep) && !fib_foreign.nanosleep ? nanosleep(&ts, NULL) :
							  CALL(usleep, us);
}

/* --- whatever may create the first thread -------------------------------- */

static void creates(struct fib *f, bool begins)
{
	f->sig.open = begins ? ~fib_load(&f->sig.mask, relaxed) : 0;
	f->thread.creating = begins;
}

int pthread_create(pthread_t *restrict t, const pthread_attr_t *restrict attr,
		   void *(*fn)(void *), void *restrict arg)
{
	struct fib *f;
	int r;

	fib_activate();
	f = fib_caller();
	if (!f)
		return CALL(pthread_create, t, attr, fn, arg);
	creates(f, true);
	r = CALL(pthread_create, t, attr, fn, arg);
	creates(f, false);
	return r;
}

int thrd_create(thrd_t *t, thrd_start_t fn, void *arg)
{
	struct fib *f;
	int r;

	fib_activate();
	f = fib_caller();
	if (!f)
		return CALL(thrd_create, t, fn, arg);
	creates(f, true);
	r = CALL(thrd_create, t, fn, arg);
	creates(f, false);
	return r;
}

int timer_create(clockid_t clock, struct sigevent *restrict ev,
		 timer_t *restrict id)
{
	if (ev && ev->sigev_notify == SIGEV_THREAD)
		fib_activate();
	return CALL(timer_create, clock, ev, id);
}

int mq_notify(mqd_t q, const struct sigevent *ev)
{
	if (ev && ev->sigev_notify == SIGEV_THREAD)
		fib_activate();
	return CALL(mq_notify, q, ev);
}

int aio_read(struct aiocb *cb)
{
	fib_activate();
	return CALL(aio_read, cb);
}

int aio_write(struct aiocb *cb)
{
	fib_activate();
	return CALL(aio_write, cb);
}

int aio_fsync(int op, struct aiocb *cb)
{
	fib_activate();
	return CALL(aio_fsync, op, cb);
}

int lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *ev)
{
	fib_activate();
	return CALL(lio_listio, mode, list, n, ev);
}

/* off_t has 64 bits: the same structure, the same functions. */
int aio_read64(struct aiocb64 *cb)
{
	return aio_read((struct aiocb *)cb);
}

int aio_write64(struct aiocb64 *cb)
{
	return aio_write((struct aiocb *)cb);
}

int aio_fsync64(int op, struct aiocb64 *cb)
{
	return aio_fsync(op, (struct aiocb *)cb);
}

int lio_listio64(int mode, struct aiocb64 *const list[], int n,
		 struct sigevent *ev)
{
	return lio_listio(mode, (struct aiocb *const *)list, n, ev);
}

int getaddrinfo_a(int mode, struct gaicb *list[], int n, struct sigevent *ev)
{
	fib_activate();
	return CALL(getaddrinfo_a, mode, list, n, ev);
}

/* --- names --------------------------------------------------------------- */

/* glibc writes /proc/self/task/TID/comm, and a fiber has none. */
static struct fib *fiber_of(pthread_t t)
{
	const int *tid = fib_tid_word(t);

	return tid ? fib_by_tid(*tid) : NULL;
}

int pthread_cancel(pthread_t t)
{
	struct fib *self = fib_caller(), *f = self ? fiber_of(t) : NULL;
	int tid = f ? fib_load(&f->tid, relaxed) : 0;
	int r = CALL(pthread_cancel, t);

	if (f && r == 0) {
		fib_hook_enter(self);
		fib_signal_cancel(f, tid);
		fib_hook_leave(self);
	}
	return r;
}

/* Which libc itself sets around its calls: the program's own choice. */
int pthread_setcanceltype(int type, int *old)
{
	struct fib *f = fib_caller();
	bool async = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	int r;

	if (f && async)
		f->thread.cancel_async = true;
	r = CALL(pthread_setcanceltype, type, old);
	if (!f || r)
		return r;
	f->thread.cancel_async = async;
	if (async) {
		/* A cancel that came before has left its signal pending. */
		fib_hook_enter(f);
		fib_signal_mask_changed(f);
		fib_hook_leave(f);
	}
	return 0;
}

int pthread_setname_np(pthread_t t, const char *name)
{
	struct fib *f = fib_caller() ? fiber_of(t) : NULL;
	size_t len = strlen(name);

	if (!f)
		return CALL(pthread_setname_np, t, name);
	if (len >= FIB_NAME_MAX)
		return ERANGE;
	memcpy(f->name, name, len + 1);
	if (f == fib_main_fiber)
		fib_set_process_name(f->name);
	return 0;
}

int pthread_getname_np(pthread_t t, char *buf, size_t len)
{
	struct fib *f = fib_caller() ? fiber_of(t) : NULL;

	if (!f)
		return CALL(pthread_getname_np, t, buf, len);
	if (len < FIB_NAME_MAX) /* whatever its length, as libc */
		return ERANGE;
	strcpy(buf, f->name);
	return 0;
}

/* --- vfork --------------------------------------------------------------- */

__attribute__((visibility("hidden"))) long fib_vfork_error(long err)
{
	errno = (int)-err;
	return -1;
}
