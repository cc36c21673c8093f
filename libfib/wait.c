/*
 * Waiting for what is no descriptor: a child, a signal, the name of a host. The
 * kernel makes descriptors of the first two; the third has a thread of its own,
 * since nothing is known of what libc does there.
 */
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include "libfib/lib.h"

#define MASK_SIZE 8 /* of a signal set, for the kernel */

/* --- children ------------------------------------------------------------------ */

#define ASK_FIRST_NS 100000ull
#define ASK_LAST_NS  10000000ull

/* Where there are no descriptors of processes it can but be asked again. */
static int wait_by_asking(uint64_t *ask_ns, uint64_t deadline)
{
	uint64_t left = fib_timeout_left(deadline), ns = *ask_ns;

	if (!left)
		return -ETIMEDOUT;
	if (ns < ASK_LAST_NS)
		*ask_ns *= 2;
	return fib_sleep(left < ns ? left : ns);
}

int fib_waitpid(pid_t pid, int *status, uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns), ask_ns = ASK_FIRST_NS;
	siginfo_t info;
	long fd, r;

	if (pid <= 0)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	/* Is it a child at all? It must not be waited for else. */
	r = fib_call(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT,
		     0);
	if (r)
		return (int)r;
	fd = fib_call(SYS_pidfd_open, pid, 0);
	if (fd == -ESRCH)
		return -ECHILD; /* somebody has reaped it just now */
	if (fd < 0 && fd != -ENOSYS && fd != -EPERM)
		return (int)fd;
	while (r == 0) {
		r = fib_call(SYS_wait4, pid, status, WNOHANG, 0);
		if (r)
			break;
		r = fd < 0 ? wait_by_asking(&ask_ns, deadline) :
			     fib_wait_fd((int)fd, FIB_EV_READ,
					 fib_timeout_left(deadline));
	}
	if (fd >= 0)
		fib_close((int)fd);
	return (int)r;
}

/* --- signals ------------------------------------------------------------------- */

int fib_signal_wait(const sigset_t *set, siginfo_t *info, uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns);
	struct timespec now = { 0, 0 };
	long fd, r;

	if (!set)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	fd = fib_call(SYS_signalfd4, -1, set, MASK_SIZE,
		      SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return (int)fd;
	/* The descriptor tells; the signal is taken here, by one who waits. */
	do {
		r = fib_call(SYS_rt_sigtimedwait, set, info, &now, MASK_SIZE);
		if (r > 0 || (r != -EAGAIN && r != -EINTR))
			break;
		r = fib_wait_fd((int)fd, FIB_EV_READ,
				fib_timeout_left(deadline));
	} while (r == 0);
	fib_close((int)fd);
	return (int)r;
}

/* --- names --------------------------------------------------------------------- */

/* A look-up: of the caller, and of the thread that does it. */
struct lookup {
	char *node, *service;
	struct addrinfo hints;
	bool has_hints;
	struct addrinfo *result;
	int error;
	struct fib_sem done;
	_Atomic bool left; /* one of the two is done with it */
};

static void free_lookup(struct lookup *l)
{
	if (l->result)
		freeaddrinfo(l->result);
	free(l->node);
	free(l->service);
	free(l);
}

/* The second frees it, and a result that nobody wants. */
static void leave(struct lookup *l)
{
	if (fib_xchg(&l->left, true, acq_rel))
		free_lookup(l);
}

static void *look_up(void *arg)
{
	struct lookup *l = arg;

	l->error = getaddrinfo(l->node, l->service,
			       l->has_hints ? &l->hints : NULL, &l->result);
	fib_sem_post(&l->done);
	leave(l);
	return NULL;
}

static struct lookup *new_lookup(const char *node, const char *service,
				 const struct addrinfo *hints)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->node = node ? strdup(node) : NULL;
	l->service = service ? strdup(service) : NULL;
	if ((node && !l->node) || (service && !l->service)) {
		free_lookup(l);
		return NULL;
	}
	l->has_hints = hints != NULL;
	if (hints)
		l->hints = (struct addrinfo){ .ai_flags = hints->ai_flags,
					      .ai_family = hints->ai_family,
					      .ai_socktype = hints->ai_socktype,
					      .ai_protocol =
						      hints->ai_protocol };
	fib_sem_init(&l->done, 0);
	return l;
}

/* A thread that takes no signal of the program's. */
static int start_thread(struct lookup *l)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, look_up, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_detach(thread);
	return r;
}

int fib_getaddrinfo(const char *node, const char *service,
		    const struct addrinfo *hints, struct addrinfo **result,
		    uint64_t timeout_ns)
{
	struct lookup *l;
	int r;

	if (!result)
		return EAI_BADFLAGS;
	if (fib_canceled_here())
		return -ECANCELED;
	l = new_lookup(node, service, hints);
	if (!l)
		return EAI_MEMORY;
	if (start_thread(l)) {
		free_lookup(l);
		return EAI_AGAIN;
	}
	r = fib_sem_wait(&l->done, timeout_ns);
	if (r == -ENOMEM) {
		r = EAI_MEMORY;
	} else if (r == 0) {
		r = l->error;
		if (r == 0)
			*result = l->result;
		l->result = NULL;
	}
	leave(l);
	return r;
}
