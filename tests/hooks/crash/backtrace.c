/*
 * A handler that prints where the program was, as crash handlers do, sees the
 * program's functions: through a fault, through a call that is interrupted, and
 * in a thread that waits. The frame of the signal has rsp among the registers, as
 * libc's has: libunwind looks there for the caller of what is no function.
 * t-case: execinfo fault
 * t-case: execinfo raise
 * t-case: execinfo wait
 * t-case: execinfo main
 * t-case: execinfo altstack
 * t-case: libgcc fault
 * t-case: libgcc raise
 * t-case: libgcc wait
 * t-case: libunwind fault
 * t-case: libunwind raise
 * t-case: libunwind wait
 */
#define UNW_LOCAL_ONLY
#include "t.h"
#include <dlfcn.h>
#include <execinfo.h>
#include <libunwind.h>
#include <setjmp.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline, noclone))
#define DEPTH	 60

void on_fault(int sig);
void crashes(void);
void calls_one_that_crashes(void);
void waits(void);
void *is_a_thread(void *arg);

static int pipes[2];
static const char *method, *kind;
static volatile int sink;
static int *volatile nowhere;
static sigjmp_buf env;
static _Atomic pthread_t waiter;
static sem_t waits_soon, done;

struct walk {
	void *at[DEPTH];
	int n, signals;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;

	if (w->n < DEPTH)
		w->at[w->n++] = (void *)_Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* Of the program, where the signal came. */
static void check_rsp(unw_cursor_t *cursor)
{
	unw_save_loc_t saved;
	unw_word_t sp;

	CHECK(unw_get_reg(cursor, UNW_REG_SP, &sp) == 0);
	CHECK(unw_get_save_loc(cursor, UNW_X86_64_RSP, &saved) == 0);
	CHECK(saved.type == UNW_SLT_MEMORY);
	CHECK(*(unw_word_t *)saved.u.addr == sp);
}

static NOINLINE void walk(struct walk *w)
{
	unw_context_t here;
	unw_cursor_t cursor;
	unw_word_t ip;

	w->n = w->signals = 0;
	if (!strcmp(method, "execinfo"))
		w->n = backtrace(w->at, DEPTH);
	else if (!strcmp(method, "libgcc"))
		_Unwind_Backtrace(step, w);
	else if (!unw_getcontext(&here) && !unw_init_local(&cursor, &here))
		do {
			unw_get_reg(&cursor, UNW_REG_IP, &ip);
			if (unw_is_signal_frame(&cursor) > 0 && !w->signals++)
				check_rsp(&cursor);
			w->at[w->n++] = (void *)ip;
		} while (w->n < DEPTH && unw_step(&cursor) > 0);
}

/* Those of the program: it is linked so that they have names. */
static void print_functions(const struct walk *w)
{
	Dl_info self, info;

	CHECK(dladdr((void *)on_fault, &self));
	for (int i = 0; i < w->n; i++)
		if (dladdr((char *)w->at[i] - 1, &info) && info.dli_sname &&
		    info.dli_fbase == self.dli_fbase)
			t_say("%s", info.dli_sname);
}

NOINLINE void on_fault(int sig)
{
	static struct walk w;

	walk(&w);
	t_say("signal %d", sig);
	print_functions(&w);
	if (sig == SIGSEGV)
		siglongjmp(env, 1);
	CHECK_0(sem_post(&done));
}

NOINLINE void crashes(void)
{
	if (!strcmp(kind, "raise"))
		raise(SIGUSR1);
	else
		*nowhere = 1;
	sink++;
}

NOINLINE void calls_one_that_crashes(void)
{
	stack_t alt = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };

	if (!strcmp(kind, "altstack"))
		CHECK(sigaltstack(&alt, NULL) == 0);
	if (sigsetjmp(env, 1) == 0)
		crashes();
	sink++;
}

NOINLINE void waits(void)
{
	char c;

	CHECK_0(sem_post(&waits_soon));
	CHECK(read(pipes[0], &c, 1) == 0);
	sink++;
}

NOINLINE void *is_a_thread(void *arg)
{
	if (arg)
		calls_one_that_crashes();
	else
		waits();
	sink++;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_fault,
				.sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t t[3];

	CHECK(argc == 3);
	method = argv[1];
	kind = argv[2];
	CHECK(pipe(pipes) == 0);
	CHECK(sem_init(&done, 0, 0) == 0 && sem_init(&waits_soon, 0, 0) == 0);
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK_0(pthread_create(&t[i], NULL, is_a_thread, NULL));
		CHECK_0(sem_wait(&waits_soon));
	}
	waiter = t[1];
	if (!strcmp(kind, "wait")) {
		t_settle();
		CHECK_0(pthread_kill(waiter, SIGUSR1));
		CHECK_0(sem_wait(&done));
	} else if (!strcmp(kind, "main")) {
		calls_one_that_crashes();
	} else {
		CHECK_0(pthread_create(&t[2], NULL, is_a_thread, pipes));
		CHECK_0(pthread_join(t[2], NULL));
	}
	CHECK(close(pipes[1]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK_0(pthread_join(t[i], NULL));
	t_say("went on");
	return 0;
}
