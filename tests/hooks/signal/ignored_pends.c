/*
 * A signal that is ignored, sent to the process while all block it, pends until its turn
 * comes: not when a mask opens, if the handler of one that goes first closes it again.
 *
 * t-case: suspend
 * t-case: ppoll
 * t-case: unblock
 */
#include "t.h"

static sigset_t both;
static int number;
static volatile int hits;

static void on_signal(int sig)
{
	(void)sig;
	hits++;
}

static int pends(int sig)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static void open_mask(const char *how)
{
	struct timespec now = { 0, 0 };
	sigset_t none;

	sigemptyset(&none);
	if (!strcmp(how, "suspend"))
		CHECK_ERR(sigsuspend(&none), EINTR);
	else if (!strcmp(how, "ppoll"))
		CHECK_ERR(ppoll(NULL, 0, &now, &none), EINTR);
	else
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
}

static void *run(void *how)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaddset(&sa.sa_mask, number);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	t_handle(number, SIG_IGN, 0);
	for (int closes = 1; closes >= 0; closes--) {
		CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
		CHECK(kill(getpid(), number) == 0);
		CHECK(kill(getpid(), SIGUSR1) == 0);
		t_say("%d: pends %d", number, pends(number));
		open_mask(how);
		t_say("handled %d, pends %d", hits, pends(number));
		sigemptyset(&sa.sa_mask);
		CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	}
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	CHECK(kill(getpid(), number) == 0);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
	t_say("alone: handled %d, pends %d", hits, pends(number));
	return NULL;
}

int main(int argc, char **argv)
{
	const int numbers[] = { SIGUSR2, SIGRTMIN + 4, SIGHUP };
	char *how = argc > 1 ? argv[1] : "suspend";

	sigemptyset(&both);
	for (unsigned i = 0; i < T_LEN(numbers); i++)
		sigaddset(&both, numbers[i]);
	sigaddset(&both, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	for (unsigned i = 0; i < T_LEN(numbers); i++) {
		number = numbers[i];
		t_join(t_thread(run, how));
	}
	return 0;
}
