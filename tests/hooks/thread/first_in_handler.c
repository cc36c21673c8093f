/*
 * The process's first thread is made by a signal handler that has interrupted a
 * system call of libc's, at whatever place of it; then all goes on as before.
 *
 * t-no-stats: a start would come in the midst of a call, and is not made
 * t-case: restart
 * t-case: eintr
 * t-case: altstack
 * t-case: nested
 */
#include "t.h"

static int p[2];
static volatile int handled, nests;

static void *writes(void *arg)
{
	CHECK(write(p[1], "x", 1) == 1);
	return arg;
}

static void on_alarm(int sig)
{
	int saved = errno;

	(void)sig;
	if (nests) {
		nests = 0;
		CHECK(raise(SIGUSR1) == 0);
	} else {
		t_join(t_thread(writes, NULL));
		t_join(t_thread(writes, NULL));
	}
	handled++;
	errno = saved;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct itimerval soon = { .it_value = { 0, 5000 } };
	static char stack[1 << 16];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	int again = strcmp(how, "eintr") != 0;
	ssize_t n;
	char b[2];

	/* Why it is not hooked would be said on stderr. */
	if (!getenv("FIBHOOK_LOG")) {
		CHECK(setenv("FIBHOOK_LOG", "none", 1) == 0);
		execv("/proc/self/exe", argv);
	}
	t_pipe(p);
	if (!strcmp(how, "altstack"))
		CHECK(sigaltstack(&ss, NULL) == 0);
	nests = !strcmp(how, "nested");
	t_handle(SIGALRM, on_alarm,
		 (again ? SA_RESTART : 0) |
			 (strcmp(how, "altstack") ? 0 : SA_ONSTACK));
	t_handle(SIGUSR1, on_alarm, 0);
	CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	n = read(p[0], b, 1);
	if (again)
		CHECK(n == 1);
	else
		CHECK(n == -1 && errno == EINTR);
	CHECK(handled == (strcmp(how, "nested") ? 1 : 2));
	t_read(p[0], b, again ? 1 : 2);
	/* Its mask is as it was, and threads can be made. */
	t_join(t_thread(writes, NULL));
	CHECK(raise(SIGALRM) == 0);
	t_read(p[0], b, 2);
	t_read(p[0], b, 1);
	t_say("%s", how);
	return 0;
}
