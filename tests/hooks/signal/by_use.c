/*
 * What counts CPU time signals the thread that has used it, not main: limits and timers. So
 * does a timer that goes off as it is set. Main's call goes on.
 *
 * t-case: limit
 * t-case: process
 * t-case: thread
 * t-case: at_once
 * t-case: past
 */
#include "../calls.h"
#include <sys/epoll.h>
#include <sys/resource.h>

static __thread const char *me = "another";
static const char *volatile by;
static volatile sig_atomic_t code;
static atomic_int done;

static void handler(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	by = me;
	code = info->si_code;
	atomic_store(&done, 1);
}

static void set(clockid_t clock, int flags, struct timespec at)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	struct itimerspec it = { .it_value = at };
	timer_t timer;

	CHECK_0(timer_create(clock, &ev, &timer));
	CHECK_0(timer_settime(timer, flags, &it, NULL));
}

static void *computes(void *arg)
{
	const char *how = arg;
	struct rlimit limit;

	me = "who computes";
	if (!strcmp(how, "limit")) {
		CHECK_0(getrlimit(RLIMIT_CPU, &limit));
		limit.rlim_cur = 1;
		CHECK_0(setrlimit(RLIMIT_CPU, &limit));
	} else if (!strcmp(how, "process")) {
		set(CLOCK_PROCESS_CPUTIME_ID, 0, t_ts(100 * T_MS));
	} else if (!strcmp(how, "thread")) {
		set(CLOCK_THREAD_CPUTIME_ID, 0, t_ts(100 * T_MS));
	} else if (!strcmp(how, "at_once")) {
		set(CLOCK_MONOTONIC, 0, t_ts(1));
	} else {
		set(CLOCK_MONOTONIC, TIMER_ABSTIME, t_ts(1));
	}
	while (!atomic_load(&done))
		;
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), end[2];
	pthread_t th;

	CHECK(argc == 2 && ep >= 0);
	me = "main";
	sigemptyset(&sa.sa_mask);
	CHECK_0(sigaction(SIGXCPU, &sa, NULL));
	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	t_pipe(end);
	CHECK_0(epoll_ctl(ep, EPOLL_CTL_ADD, end[0], &ev));
	t_be_threaded();
	th = t_thread(computes, argv[1]);
	/* It would end with EINTR. */
	CHECK(epoll_wait(ep, &ev, 1, strcmp(argv[1], "limit") ? 500 : 2500) ==
	      0);
	t_join(th);
	printf("by %s, code %d\n", by, code);
	return 0;
}
