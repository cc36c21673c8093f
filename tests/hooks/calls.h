/*
 * Calls that wait, each made by a thread of its own, and what came of them.
 *
 *	t_begin(&c, fn, arg)	fn(arg) is called; it is likely to wait by now
 *	t_waits(&c)		and still waits
 *	t_rests()		whoever waits uses no processor
 *	t_rested(pid)		who waits in that process sleeps
 *	t_end(&c)		its result, or -errno, when it has ended
 *	t_ended("name", &c)	the same, in the transcript
 *
 * That a thread waits in the kernel cannot be seen from inside in the same way
 * natively and hooked. So both give it time, and then until no kernel thread of the
 * process but the caller's is to run: who would, on a busy machine, has not come to
 * wait yet. That is looked for several times in a row, since one thread may hand
 * over to another that was looked at before, and rest when it is looked at itself.
 */
#ifndef T_CALLS_H
#define T_CALLS_H

#include "t.h"
#include <stdatomic.h>
#include <sys/resource.h>

struct t_call {
	long (*fn)(void *);
	void *arg;
	pthread_t th;
	sem_t begun;
	long r;
	atomic_int ended;
};

static inline long long t_is_in(FILE *f, const char *states)
{
	char state;

	return fscanf(f, "%*d (%*[^)]) %c", &state) == 1 &&
	       strchr(states, state);
}

/* Kernel threads of process @pid in one of @states, as /proc has them. */
static inline int t_threads_in(pid_t pid, const char *states)
{
	char process[12];

	snprintf(process, sizeof(process), "%d", (int)pid);
	return (int)t_of_tasks(process, "stat", t_is_in, states);
}

/* Those that run, or are to; also once they have their page, or a lock of the kernel's. */
static inline int t_running_of(pid_t pid)
{
	return t_threads_in(pid, "RD");
}

/*
 * Between two looks. Several of them together are shorter than a tick of the library's
 * monitor, 10 ms, which is found to run at one of them.
 */
static inline void t_moment(void)
{
	struct timespec ts = { 0, T_MS };

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}

/*
 * Until none of @pid's is to run, at three looks in a row: it is likely that all sleep when
 * the caller stops them.
 */
static inline void t_rested(pid_t pid)
{
	for (int quiet = 0; quiet < 3;
	     quiet = t_running_of(pid) ? 0 : quiet + 1)
		t_moment();
}

/* The caller's is one. */
static inline int t_running(void)
{
	return t_running_of(getpid());
}

/* Not for ever: one may be there that computes. */
static inline void t_pause(void)
{
	struct timespec ts = { 0, 20 * T_MS };

	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
	for (int i = 0, quiet = 0; i < 1500; i++) {
		quiet = t_running() > 1 ? 0 : quiet + 1;
		if (quiet == 3)
			break;
		t_moment();
	}
}

static inline void *t_call_body(void *arg)
{
	struct t_call *c = arg;

	CHECK(sem_post(&c->begun) == 0);
	errno = 0;
	c->r = c->fn(c->arg);
	if (c->r < 0)
		c->r = -errno;
	atomic_store(&c->ended, 1);
	return NULL;
}

/* It need not wait yet: for several that have limits, and are all to wait before the first. */
static inline void t_begin_one(struct t_call *c, long (*fn)(void *), void *arg)
{
	c->fn = fn;
	c->arg = arg;
	atomic_store(&c->ended, 0);
	CHECK(sem_init(&c->begun, 0, 0) == 0);
	c->th = t_thread(t_call_body, c);
	t_down(&c->begun);
}

static inline void t_begin(struct t_call *c, long (*fn)(void *), void *arg)
{
	t_begin_one(c, fn, arg);
	t_pause();
}

static inline void t_waits(struct t_call *c)
{
	t_pause();
	CHECK(!atomic_load(&c->ended));
}

static inline long t_used_ms(void)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_SELF, &u) == 0);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* A time it is: who waits by looking again does so for as long as he waits. */
static inline void t_rests(void)
{
	enum { WAIT_MS = 400 };
	long used = t_used_ms();

	usleep(WAIT_MS * 1000);
	CHECK(t_used_ms() - used < WAIT_MS / 4);
}

/** The type of socket that a case is of, by its name. */
static inline int t_type(const char *name)
{
	return !strcmp(name, "dgram")	  ? SOCK_DGRAM :
	       !strcmp(name, "seqpacket") ? SOCK_SEQPACKET :
					    SOCK_STREAM;
}

static inline long t_end(struct t_call *c)
{
	t_join(c->th);
	return c->r;
}

static inline void t_result(const char *what, long r)
{
	if (r < 0)
		t_say("%s: %s", what, strerrorname_np((int)-r));
	else
		t_say("%s: %ld", what, r);
}

/* Of a call in this thread: its result as above. */
#define T_RESULT(what, expr)                                                   \
	do {                                                                   \
		errno = 0;                                                     \
		long t_res_ = (long)(expr);                                    \
		t_result(what, t_res_ < 0 ? -(long)errno : t_res_);            \
	} while (0)

static inline void t_ended(const char *what, struct t_call *c)
{
	t_result(what, t_end(c));
}

#endif
