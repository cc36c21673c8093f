/*
 * fib_tell_overflow(). See fib.h.
 *
 * A fiber that goes beyond its stack touches the guard page below it, and has no
 * room for a handler: that runs on a stack of the thread's. It looks the address
 * up among the guard pages of all fibers, names the one, and leaves the rest to
 * whoever had the signal before.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include "libfib/lib.h"

#define ALTSTACK (32ul * 1024)

_Atomic bool fib_overflow_told;

static struct sigaction before;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
static __thread void *altstack;
static __thread bool ready;

static const struct fib *whose_guard(uintptr_t at)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		const struct fib *f = fib_at(i);
		uintptr_t low = (uintptr_t)f->stack;

		if (low && fib_load(&f->state, relaxed) == FIB_RUNNING &&
		    at >= low && at - low < FIB_PAGE)
			return f;
	}
	return NULL;
}

static void tell(const struct fib *f)
{
	struct fib_text t = { .fd = 2 };

	fib_text_put(&t, "libfib: stack overflow in ");
	fib_text_fiber(&t, fib_id(f), f->name);
	fib_text_put(&t, ", which has ");
	fib_text_number(&t, (f->stack_size - FIB_PAGE) / 1024, 10);
	fib_text_put(&t, " KiB\n");
	fib_text_end(&t);
}

/* To whoever had the signal before. */
static void pass_on(int sig, siginfo_t *info, void *context, bool sent)
{
	static const struct sigaction natively = { .sa_handler = SIG_DFL };

	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL &&
		   before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else if (before.sa_handler == SIG_DFL || !sent) {
		/* A fault happens once more, and ends the process as ever. */
		sigaction(sig, &natively, NULL);
		if (sent)
			raise(sig);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	/* What somebody sends has no address. */
	bool sent = info->si_code <= 0;
	const struct fib *f =
		sent ? NULL : whose_guard((uintptr_t)info->si_addr);

	if (f)
		tell(f);
	pass_on(sig, info, context, sent);
}

__attribute__((noinline)) void fib_altstack_make(void)
{
	stack_t now, mine = { .ss_size = ALTSTACK };

	sigset_t set;

	__asm__ volatile("");
	if (ready)
		return;
	ready = true;
	/* Threads of the library's own have it blocked. */
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
		return;
	mine.ss_sp = mmap(NULL, ALTSTACK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mine.ss_sp == MAP_FAILED)
		return;
	if (sigaltstack(&mine, NULL))
		munmap(mine.ss_sp, ALTSTACK);
	else
		altstack = mine.ss_sp;
}

__attribute__((noinline)) void fib_altstack_drop(void)
{
	stack_t now;

	__asm__ volatile("");
	if (!altstack)
		return;
	if (!sigaltstack(NULL, &now) && now.ss_sp == altstack)
		sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
	munmap(altstack, ALTSTACK);
	altstack = NULL;
}

int fib_tell_overflow(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_ONSTACK };
	int r = 0;

	sigemptyset(&sa.sa_mask);
	pthread_mutex_lock(&once);
	if (!fib_load(&fib_overflow_told, relaxed)) {
		r = sigaction(SIGSEGV, &sa, &before) ? -errno : 0;
		if (r == 0)
			fib_store(&fib_overflow_told, true, release);
	}
	pthread_mutex_unlock(&once);
	if (r == 0)
		fib_altstack_ensure();
	return r;
}
