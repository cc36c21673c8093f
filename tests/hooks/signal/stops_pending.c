/*
 * A stop signal ends a pending SIGCONT, and SIGCONT pending stop signals, of the
 * process and of threads, whichever of them the new one is for.
 */
#include "t.h"

static sigset_t set;

static void on_sig(int sig)
{
	(void)sig;
}

static void tell(const char *what)
{
	sigset_t now;

	CHECK(sigpending(&now) == 0);
	t_say("%s:%s%s%s%s", what, sigismember(&now, SIGTSTP) ? " TSTP" : "",
	      sigismember(&now, SIGTTIN) ? " TTIN" : "",
	      sigismember(&now, SIGTTOU) ? " TTOU" : "",
	      sigismember(&now, SIGCONT) ? " CONT" : "");
}

static void *sends(void *arg)
{
	pid_t pid = getpid();
	struct timespec now = { 0, 0 };

	CHECK(kill(pid, SIGTSTP) == 0);
	CHECK_0(pthread_kill(pthread_self(), SIGTTIN));
	tell("two stop signals");
	CHECK(kill(pid, SIGCONT) == 0);
	tell("SIGCONT to the process");
	CHECK_0(pthread_kill(pthread_self(), SIGTTOU));
	tell("a stop signal to the thread");
	CHECK(kill(pid, SIGTSTP) == 0);
	CHECK_0(pthread_kill(pthread_self(), SIGCONT));
	tell("SIGCONT to the thread");
	CHECK(kill(pid, SIGTSTP) == 0);
	tell("a stop signal to the process");
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	tell("all accepted");
	return arg;
}

int main(void)
{
	static const int sigs[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT };

	sigemptyset(&set);
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		sigaddset(&set, sigs[i]);
		t_handle(sigs[i], on_sig, 0);
	}
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_join(t_thread(sends, NULL));
	return 0;
}
