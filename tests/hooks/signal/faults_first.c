/*
 * What pends of the signals that faults raise when the first thread is created, for the
 * process and for the thread, is handled once the mask opens.
 */
#include "t.h"

static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
static volatile int came[65];

static void handler(int sig)
{
	came[sig]++;
}

int main(void)
{
	sigset_t set, old, pending;

	CHECK(sigemptyset(&set) == 0);
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		t_handle(sigs[i], handler, 0);
		CHECK(sigaddset(&set, sigs[i]) == 0);
	}
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		CHECK(kill(getpid(), sigs[i]) == 0);
		if (i % 2)
			CHECK(raise(sigs[i]) == 0);
	}
	t_be_threaded();
	CHECK(sigpending(&pending) == 0);
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		CHECK(sigismember(&pending, sigs[i]) == 1);
		CHECK(came[sigs[i]] == 0);
	}
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(came[sigs[i]] == 1 + (int)i % 2);
	CHECK(sigpending(&pending) == 0);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(sigismember(&pending, sigs[i]) == 0);
	t_say("%zu signals", T_LEN(sigs));
	return 0;
}
