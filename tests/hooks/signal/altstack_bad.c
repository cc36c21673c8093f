/*
 * An alternate stack that cannot be written: SIGSEGV in place of the signal,
 * and the end if that has no handler either, or is itself what came.
 *
 * t-case: call
 * t-case: code
 * t-case: no_handler => signal SEGV
 * t-case: same_stack => signal SEGV
 */
#include "t.h"

static const size_t size = 64 * 1024;
static volatile int usr1, segv;

static void on_usr1(int sig)
{
	(void)sig;
	usr1++;
}

static void on_segv(int sig)
{
	(void)sig;
	segv++;
}

static pthread_t main_thread;

static void *sends(void *arg)
{
	for (int i = 0; i < 20; i++) {
		CHECK_0(pthread_kill(main_thread, SIGUSR1));
		while (segv != i + 1)
			sched_yield();
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	stack_t ss = { .ss_size = size };
	pthread_t th;

	t_be_threaded();
	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(ss.ss_sp != MAP_FAILED);
	CHECK(sigaltstack(&ss, NULL) == 0);
	t_handle(SIGUSR1, on_usr1, SA_ONSTACK);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(usr1 == 1);
	CHECK(mprotect(ss.ss_sp, size, PROT_READ) == 0);
	if (strcmp(how, "no_handler") != 0)
		t_handle(SIGSEGV, on_segv,
			 strcmp(how, "same_stack") ? 0 : SA_ONSTACK);
	if (strcmp(how, "code") == 0) {
		main_thread = pthread_self();
		th = t_thread(sends, NULL);
		while (segv != 20)
			;
		t_join(th);
	} else {
		for (int i = 1; i <= 20; i++) {
			CHECK(raise(SIGUSR1) == 0);
			CHECK(segv == i);
		}
	}
	CHECK(mprotect(ss.ss_sp, size, PROT_READ | PROT_WRITE) == 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(usr1 == 2);
	t_say("%d and %d", usr1, segv);
	return 0;
}
