/* RLIMIT_SIGPENDING: real-time signals to a thread or the process that blocks them. */
#include <sys/resource.h>
#include "t.h"

static struct rlimit given;

/* It is of all processes of the user: others may have thousands. */
static void limit(rlim_t n)
{
	struct rlimit lim = given;

	lim.rlim_cur = n;
	CHECK(setrlimit(RLIMIT_SIGPENDING, &lim) == 0);
}

static void *check(void *arg)
{
	const int rt = SIGRTMIN + 3;
	union sigval v = { .sival_int = 7 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, rt);
	sigaddset(&set, SIGUSR1);
	limit(0);
	CHECK_ERR(syscall(SYS_tgkill, getpid(), gettid(), rt), EAGAIN);
	CHECK_RC(pthread_sigqueue(pthread_self(), rt, v), EAGAIN);
	CHECK_ERR(sigqueue(getpid(), rt, v), EAGAIN);
	/* Those that do not queue come all the same. */
	CHECK(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0);
	CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
	limit(given.rlim_cur);
	CHECK(syscall(SYS_tgkill, getpid(), gettid(), rt) == 0);
	CHECK_0(pthread_sigqueue(pthread_self(), rt, v));
	CHECK(sigwaitinfo(&set, &info) == rt);
	CHECK(info.si_value.sival_int == 0);
	CHECK(sigwaitinfo(&set, &info) == rt);
	CHECK(info.si_value.sival_int == 7);
	return arg;
}

int main(void)
{
	sigset_t all;

	CHECK(getrlimit(RLIMIT_SIGPENDING, &given) == 0);
	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	check(NULL);
	t_join(t_thread(check, NULL));
	check(NULL);
	t_say("limited");
	return 0;
}
