/*
 * Of the signals that are pending, the kernel gives the thread's own first, then
 * those that faults raise, then the lowest number: to sigwait() one by one, and
 * to handlers, of which the last one begins first. It is no matter that others
 * look for signals meanwhile.
 */
#include "t.h"

static const int sigs[] = { SIGUSR1, SIGSEGV, SIGHUP, SIGSYS, SIGUSR2 };
static sigset_t set;
static int seen[T_LEN(sigs)];
static volatile int n;

static void on_sig(int sig)
{
	seen[n++] = sig;
}

static void accept_all(const char *what, size_t count)
{
	char line[128] = "";
	struct timespec now = { 0, 0 };

	for (size_t i = 0; i < count; i++)
		sprintf(line + strlen(line), " %d",
			sigtimedwait(&set, NULL, &now));
	CHECK_ERR(sigtimedwait(&set, NULL, &now), EAGAIN);
	t_say("%s:%s", what, line);
}

static void *accepts(void *arg)
{
	char line[128] = "";

	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK_0(pthread_kill(pthread_self(), sigs[i]));
	accept_all("of the thread", T_LEN(sigs));
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK(kill(getpid(), sigs[i]) == 0);
	accept_all("of the process", T_LEN(sigs));
	for (size_t i = 0; i < T_LEN(sigs); i++) {
		CHECK(kill(getpid(), sigs[i]) == 0);
		CHECK_0(pthread_kill(pthread_self(), sigs[i]));
	}
	accept_all("of both", 2 * T_LEN(sigs));
	for (size_t i = 0; i < T_LEN(sigs); i++)
		t_handle(sigs[i], on_sig, 0);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		CHECK_0(pthread_kill(pthread_self(), sigs[i]));
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	while (n < (int)T_LEN(sigs))
		sched_yield();
	for (size_t i = 0; i < T_LEN(sigs); i++)
		sprintf(line + strlen(line), " %d", seen[i]);
	t_say("handled:%s", line);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	return arg;
}

/* Each call that ends lets the receiver look for what nobody watches. */
static void *accepts_real_time(void *arg)
{
	struct timespec long_enough = { 5, 0 };

	for (int round = 0; round < 200; round++) {
		for (int i = 9; i >= 0; i--)
			CHECK(kill(getpid(), SIGRTMIN + 1 + i) == 0);
		for (int i = 0; i < 10; i++)
			CHECK_RC(sigtimedwait(&set, NULL, &long_enough),
				 SIGRTMIN + 1 + i);
	}
	return arg;
}

enum { VALUES = 3000 };

/* Those of one number in the order in which they were sent, while it goes on. */
static void *accepts_values(void *arg)
{
	struct timespec long_enough = { 5, 0 };
	siginfo_t si;

	for (int i = 0; i < VALUES; i++) {
		CHECK_RC(sigtimedwait(&set, &si, &long_enough), SIGRTMIN + 1);
		CHECK_RC(si.si_value.sival_int, i);
	}
	return arg;
}

static void send_values(void)
{
	union sigval v;

	for (int i = 0; i < VALUES; i++) {
		v.sival_int = i;
		while (sigqueue(getpid(), SIGRTMIN + 1, v) != 0) {
			CHECK(errno == EAGAIN);
			sched_yield();
		}
		if (i % 40 == 0)
			usleep(500);
	}
}

int main(void)
{
	pthread_t th;

	sigemptyset(&set);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		sigaddset(&set, sigs[i]);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_join(t_thread(accepts, NULL));
	sigemptyset(&set);
	for (int i = 0; i < 10; i++)
		sigaddset(&set, SIGRTMIN + 1 + i);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_join(t_thread(accepts_real_time, NULL));
	t_say("real-time signals in order");
	th = t_thread(accepts_values, NULL);
	send_values();
	t_join(th);
	t_say("and those of one number");
	return 0;
}
