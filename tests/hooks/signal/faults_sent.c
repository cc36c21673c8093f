/*
 * The signals of faults, sent by somebody: by another process and by this one,
 * blocked and not.
 */
#include "t.h"

static const int sigs[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
static volatile int came[65], sender;
static sigset_t set, old;

static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	came[sig]++;
	sender = info->si_pid;
	CHECK(info->si_code == SI_USER);
}

static int total(void)
{
	int n = 0;

	for (size_t i = 0; i < T_LEN(sigs); i++)
		n += came[sigs[i]];
	return n;
}

static void send_all(pid_t pid)
{
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(kill(pid, sigs[i]) == 0);
}

static void blocked(int by_child)
{
	siginfo_t info;
	sigset_t now;
	pid_t pid = getpid();
	int before = total();

	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	if (by_child) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			send_all(getppid());
			_exit(0);
		}
		t_wait_ok(pid);
	} else {
		/* Blocked: one of each is kept. */
		send_all(pid);
		send_all(pid);
	}
	/* From another process they may take a moment, hooked. */
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		do {
			CHECK(sigpending(&now) == 0);
		} while (by_child && sigismember(&now, sigs[i]) == 0);
		CHECK(sigismember(&now, sigs[i]) == 1);
	}
	CHECK(total() == before);
	/* One is taken, the handlers of the others run. */
	sigemptyset(&now);
	sigaddset(&now, SIGFPE);
	CHECK(sigwaitinfo(&now, &info) == SIGFPE);
	CHECK(info.si_pid == pid && info.si_code == SI_USER);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	CHECK(total() == before + (int)T_LEN(sigs) - 1);
	CHECK(sender == pid);
	CHECK(sigpending(&now) == 0);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(sigismember(&now, sigs[i]) == 0);
}

/* Not blocked: main's handler, in its own code. */
static void open_to_main(void)
{
	int before = came[SIGSEGV];
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(kill(getppid(), SIGSEGV) == 0);
		_exit(0);
	}
	while (came[SIGSEGV] == before)
		;
	t_wait_ok(pid);
	CHECK(came[SIGSEGV] == before + 1);
	CHECK(sender == pid);
	CHECK(kill(getpid(), SIGSEGV) == 0);
	CHECK(came[SIGSEGV] == before + 2);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO };

	sigemptyset(&set);
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		CHECK(sigaction(sigs[i], &sa, NULL) == 0);
		sigaddset(&set, sigs[i]);
	}
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	t_bystander();
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	for (int i = 0; i < 20; i++) {
		blocked(i & 1);
		open_to_main();
	}
	t_say("%d and %d", came[SIGBUS], came[SIGFPE]);
	return 0;
}
