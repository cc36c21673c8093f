/*
 * The alternate stack is part of what the end of a handler gives back, and with
 * SS_AUTODISARM it is free while its handler runs.
 */
#include "t.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { SIZE = 65536 };

static char one[SIZE], two[SIZE];
static volatile int runs, disarmed;

static int is_on(const char *stack)
{
	char here;

	return &here > stack && &here < stack + SIZE;
}

static void set(char *sp, int flags)
{
	stack_t ss = { .ss_sp = sp, .ss_size = SIZE, .ss_flags = flags };

	CHECK(sigaltstack(&ss, NULL) == 0);
}

static stack_t get(void)
{
	stack_t ss;

	CHECK(sigaltstack(NULL, &ss) == 0);
	return ss;
}

/* On the ordinary stack: what it sets is undone. */
static void sets(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)si;
	CHECK(uc->uc_stack.ss_sp == one);
	set(two, 0);
	CHECK(get().ss_sp == two);
	runs++;
}

/* What it says in its frame is what holds afterwards, if it is not there. */
static void says(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)si;
	uc->uc_stack.ss_sp = two;
	runs++;
}

static void inner(int sig)
{
	(void)sig;
	CHECK(is_on(two));
	runs++;
}

static void outer(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)si;
	CHECK(is_on(one));
	CHECK(uc->uc_stack.ss_sp == one);
	CHECK((unsigned)uc->uc_stack.ss_flags == SS_AUTODISARM);
	CHECK(get().ss_flags == SS_DISABLE);
	disarmed = 1;
	set(two, 0);
	CHECK(raise(SIGUSR2) == 0);
	runs++;
}

static void act(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = fn;
	sa.sa_flags = SA_SIGINFO | flags;
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void *sends(void *arg)
{
	CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
	return NULL;
}

/* In a call, and between calls. */
static void both(int inside)
{
	pthread_t self = pthread_self(), th;
	int n = runs;

	if (inside) {
		CHECK(raise(SIGUSR1) == 0);
		CHECK(runs > n);
		return;
	}
	th = t_thread(sends, &self);
	while (runs == n)
		;
	t_join(th);
}

static void *work(void *arg)
{
	for (int inside = 0; inside < 2; inside++) {
		set(one, 0);
		act(SIGUSR1, sets, 0);
		both(inside);
		CHECK(get().ss_sp == one);
		act(SIGUSR1, says, SA_ONSTACK);
		both(inside);
		CHECK(get().ss_sp == one);
		act(SIGUSR1, says, 0);
		both(inside);
		CHECK(get().ss_sp == two);

		disarmed = 0;
		set(one, (int)SS_AUTODISARM);
		CHECK((unsigned)get().ss_flags == SS_AUTODISARM);
		act(SIGUSR1, outer, SA_ONSTACK);
		t_handle(SIGUSR2, inner, SA_ONSTACK);
		both(inside);
		CHECK(disarmed);
		CHECK(get().ss_sp == one);
		CHECK((unsigned)get().ss_flags == SS_AUTODISARM);
	}
	return arg;
}

int main(void)
{
	work(NULL);
	t_join(t_thread(work, NULL));
	t_say("%d handlers", runs);
	return 0;
}
