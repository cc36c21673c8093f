/*
 * What a thread's own instruction raises, without a handler or with the signal
 * blocked, ends the process by that signal: what comes again when it is made
 * again, and what does not.
 *
 * t-case: int3
 * t-case: int3 blocked
 * t-case: ud2
 * t-case: divide
 * t-case: null blocked
 * t-case: step
 */
#include <sys/prctl.h>
#include "t.h"

static const struct {
	const char *name;
	int sig;
} kinds[] = { { "int3", SIGTRAP },
	      { "ud2", SIGILL },
	      { "divide", SIGFPE },
	      { "null", SIGSEGV },
	      { "step", SIGTRAP } };

static volatile int zero, sink;

static void on_sig(int sig)
{
	(void)sig;
	_exit(4);
}

static void *fault(void *arg)
{
	const char *how = arg;

	if (!strcmp(how, "int3"))
		__asm__ volatile("int3");
	else if (!strcmp(how, "ud2"))
		__asm__ volatile("ud2");
	else if (!strcmp(how, "divide"))
		sink = 7 / zero;
	else if (!strcmp(how, "null"))
		sink = *(volatile int *)(uintptr_t)zero;
	else
		__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq; nop" ::
					 : "memory", "cc");
	_exit(3);
	return NULL;
}

int main(int argc, char **argv)
{
	int sig = 0;

	CHECK(argc >= 2);
	for (size_t i = 0; i < T_LEN(kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			sig = kinds[i].sig;
	t_be_threaded();
	for (int round = 0; round < 10; round++) {
		pid_t pid = fork();
		int st;

		CHECK(pid >= 0);
		if (pid == 0) {
			sigset_t set;

			prctl(PR_SET_DUMPABLE, 0);
			sigemptyset(&set);
			sigaddset(&set, sig);
			if (argc > 2) {
				t_handle(sig, on_sig, 0);
				CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
			}
			t_join(t_thread(fault, argv[1]));
		}
		st = t_wait(pid);
		CHECK(WIFSIGNALED(st));
		CHECK(WTERMSIG(st) == sig);
	}
	t_say("ended");
	return 0;
}
