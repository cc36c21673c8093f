/*
 * A thread whose mask opens has what is pending before its next line: one that
 * begins so, while its creator blocks it, and one that opens its mask itself, as
 * the first call that it makes.
 *
 * t-case: attr
 * t-case: itself
 * t-case: later
 */
#include "t.h"

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

/* From another process, which is known to have ended. */
static void send_from_outside(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(kill(getppid(), SIGUSR1) != 0);
	t_wait_ok(pid);
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(how, &set, NULL));
}

static void *looks(void *arg)
{
	CHECK(handled == 1);
	return arg;
}

static void *opens(void *arg)
{
	CHECK(handled == 0);
	mask(SIG_UNBLOCK);
	CHECK(handled == 1);
	return arg;
}

/* It was open when the thread began, and was not when the signal came. */
static void *opens_later(void *arg)
{
	mask(SIG_BLOCK);
	send_from_outside();
	return opens(arg);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	void *(*fn)(void *) = opens;
	pthread_attr_t a;
	pthread_t th;
	sigset_t none;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK_0(pthread_attr_init(&a));
	sigemptyset(&none);
	t_be_threaded();
	if (strcmp(how, "itself")) {
		CHECK_0(pthread_attr_setsigmask_np(&a, &none));
		fn = strcmp(how, "later") ? looks : opens_later;
	}
	for (int i = 0; i < 50; i++) {
		handled = 0;
		mask(SIG_BLOCK);
		if (strcmp(how, "later"))
			send_from_outside();
		CHECK_0(pthread_create(&th, &a, fn, NULL));
		t_join(th);
		mask(SIG_UNBLOCK);
		CHECK(handled == 1);
	}
	t_say("%s: at once", how);
	return 0;
}
