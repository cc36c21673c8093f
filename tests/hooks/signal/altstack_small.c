/*
 * Frames that do not fit a small alternate stack: SIGSEGV, and nothing below it
 * is touched. By a fault, by a signal that comes in a call, by one that comes
 * between calls, and by one while a handler is on the stack already.
 *
 * t-case: fault => signal SEGV
 * t-case: fault_other
 * t-case: call => signal SEGV
 * t-case: call_handled
 * t-case: code => signal SEGV
 * t-case: code_handled
 * t-case: nested
 * t-case: sizes
 */
#include "t.h"
#include <sys/auxv.h>
#include <sys/resource.h>
#include <setjmp.h>

enum { BELOW = 65536, SMALLEST = 2048 };

static char *mem, *stack;
static sigjmp_buf env;
static volatile sig_atomic_t segv, usr1, usr2;
static volatile int nests;

static void intact(void)
{
	for (int i = 0; i < BELOW; i++)
		CHECK(mem[i] == 0x5a);
}

static void use_stack(size_t size)
{
	stack_t ss = { .ss_sp = stack, .ss_size = size };

	CHECK(sigaltstack(&ss, NULL) == 0);
}

static void on_segv(int sig)
{
	(void)sig;
	segv++;
	siglongjmp(env, 1);
}

static void on_usr1(int sig)
{
	(void)sig;
	usr1++;
	if (nests)
		__asm__ volatile("ud2");
}

static void on_usr2(int sig)
{
	(void)sig;
	usr2++;
}

static void *sends(void *arg)
{
	t_settle();
	CHECK_0(pthread_kill(*(pthread_t *)arg, SIGUSR1));
	return NULL;
}

static void by_fault(int sig)
{
	if (sig == SIGSEGV)
		*(volatile int *)8 = 1;
	__asm__ volatile("ud2");
}

static void by(const char *how, int handled)
{
	pthread_t self = pthread_self(), th;

	if (!strncmp(how, "fault", 5)) {
		use_stack(SMALLEST);
		by_fault(handled ? SIGILL : SIGSEGV);
	} else if (!strncmp(how, "call", 4)) {
		use_stack(SMALLEST);
		raise(SIGUSR1);
	} else {
		use_stack(SMALLEST);
		th = t_thread(sends, &self);
		for (;;)
			;
		t_join(th);
	}
	CHECK(!"there is SIGSEGV");
}

/* Frame below frame, until there is no room for one more. */
static void nested(void)
{
	struct sigaction sa;
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		memset(&sa, 0, sizeof(sa));
		sa.sa_handler = on_usr1;
		sa.sa_flags = SA_ONSTACK | SA_NODEFER;
		CHECK(sigaction(SIGILL, &sa, NULL) == 0);
		t_be_threaded();
		nests = 1;
		use_stack(BELOW);
		__asm__ volatile("ud2");
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	t_say("nested");
}

static void sizes(void)
{
	stack_t ss = { .ss_sp = stack, .ss_size = SMALLEST - 1 }, old;
	size_t frame = (size_t)getauxval(AT_MINSIGSTKSZ);

	CHECK_ERR(sigaltstack(&ss, NULL), ENOMEM);
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	CHECK(sigaltstack(NULL, &old) == 0);
	CHECK(old.ss_flags == SS_DISABLE && !old.ss_size && !old.ss_sp);
	ss.ss_flags = 3;
	CHECK_ERR(sigaltstack(&ss, NULL), EINVAL);
	/* What the kernel says is enough for a frame and a small handler. */
	t_handle(SIGUSR2, on_usr2, SA_ONSTACK);
	use_stack(frame + 2048);
	CHECK(raise(SIGUSR2) == 0);
	CHECK(usr2 == 1);
	t_say("sizes");
}

static void *work(void *arg)
{
	const char *how = arg;
	int handled = strstr(how, "_") != NULL;

	if (!strcmp(how, "sizes") || !strcmp(how, "nested")) {
		if (how[0] == 's')
			sizes();
		else
			nested();
		intact();
		return NULL;
	}
	t_handle(SIGUSR1, on_usr1, SA_ONSTACK);
	t_handle(SIGUSR2, on_usr2, SA_ONSTACK);
	t_handle(SIGILL, on_usr2, SA_ONSTACK);
	/* On the thread's own stack, or on that which is too small. */
	t_handle(SIGSEGV, on_segv, handled ? 0 : SA_ONSTACK);
	if (sigsetjmp(env, 1) == 0)
		by(how, handled);
	intact();
	CHECK(segv == 1 && usr2 == 0);
	t_say("SIGSEGV instead");
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };

	CHECK(argc > 1 && setrlimit(RLIMIT_CORE, &none) == 0);
	/* Of a CPU without AVX-512 they all do, but below each other. */
	if (strcmp(argv[1], "sizes") != 0 && strcmp(argv[1], "nested") != 0 &&
	    getauxval(AT_MINSIGSTKSZ) <= SMALLEST)
		t_skip("a frame of this CPU fits the smallest alternate stack");
	mem = mmap(NULL, 2 * BELOW, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mem != MAP_FAILED);
	memset(mem, 0x5a, BELOW);
	stack = mem + BELOW;
	t_join(t_thread(work, argv[1]));
	return 0;
}
