/*
 * The signal thread: all threads block everything, one takes the signals by
 * sigwait, sigwaitinfo or sigtimedwait and tells the others.
 */
#include "poke.h"

enum { N = 10 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int quit, reloads;
static sigset_t set;

static void *signals(void *arg)
{
	siginfo_t si;
	int sig;

	for (;;) {
		switch (reloads % 3) {
		case 0:
			CHECK_0(sigwait(&set, &sig));
			break;
		case 1:
			sig = sigwaitinfo(&set, &si);
			CHECK(sig == si.si_signo);
			break;
		case 2:
			sig = sigtimedwait(&set, &si,
					   &(struct timespec){ 100, 0 });
			CHECK(sig == si.si_signo);
			break;
		}
		CHECK_0(pthread_mutex_lock(&mu));
		if (sig == SIGTERM)
			quit = 1;
		else
			reloads++;
		CHECK_0(pthread_cond_broadcast(&changed));
		CHECK_0(pthread_mutex_unlock(&mu));
		if (quit)
			return arg;
	}
}

static void *worker(void *arg)
{
	CHECK_0(pthread_mutex_lock(&mu));
	while (!quit)
		CHECK_0(pthread_cond_wait(&changed, &mu));
	CHECK_0(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	struct timespec ts = { 0, 20 * T_MS };
	pthread_t s, th[N];
	siginfo_t si;
	long long t0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	s = t_thread(signals, NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(worker, NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_settle();
		CHECK(kill(getppid(), SIGHUP) == 0);
		_exit(0);
	}
	for (int i = 1; i <= 6; i++) {
		CHECK_0(pthread_mutex_lock(&mu));
		while (reloads < i)
			CHECK_0(pthread_cond_wait(&changed, &mu));
		CHECK_0(pthread_mutex_unlock(&mu));
		/*
		 * Before the pthread_kill(), which blocks all signals for a moment: a
		 * SIGCHLD that comes then is not ignored, and ends another's sigwait.
		 */
		if (i == 1)
			t_wait_ok(pid);
		if (i == 2)
			CHECK_0(pthread_kill(s, SIGHUP));
		else
			CHECK(kill(getpid(), i == 6 ? SIGTERM : SIGHUP) == 0);
	}
	t_join(s);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d reloads, quit %d", reloads, quit);
	t0 = t_now();
	CHECK_ERR(sigtimedwait(&set, &si, &ts), EAGAIN);
	T_TOOK(t0, 20 * T_MS);
	CHECK(raise(SIGTERM) == 0);
	ts = t_ts(0);
	CHECK(sigtimedwait(&set, &si, &ts) == SIGTERM);
	CHECK(si.si_pid == getpid());
	CHECK_ERR(sigtimedwait(&set, &si, &ts), EAGAIN);
	t_say("timed");
	return 0;
}
