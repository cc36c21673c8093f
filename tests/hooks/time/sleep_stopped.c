/*
 * The process is stopped while a thread sleeps, and goes on. The sleep is as long as it was to
 * be, and tells what was left when it was stopped; if it cannot, it ends with EFAULT.
 *
 * t-case: left
 * t-case: itself
 * t-case: over
 * t-case: nowhere
 * t-no-stats: the stopped child leaves by _exit()
 */
#include "../calls.h"

enum { SLEEP_MS = 800 };

static struct timespec want = { 0, SLEEP_MS * T_MS }, left = { 0, -1 };
static struct timespec *rest = &left;

static long sleeps(void *arg)
{
	(void)arg;
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &want, rest);
	return errno ? -1 : 0;
}

static int in_child(const char *how, int to, int from)
{
	long long start;
	struct t_call c;

	if (!strcmp(how, "itself"))
		rest = &want;
	if (!strcmp(how, "nowhere"))
		rest = (void *)8;
	start = t_now();
	t_begin(&c, sleeps, NULL);
	t_put(to, 'r');
	t_get(from);
	t_join(c.th);
	if (rest == (void *)8)
		CHECK(c.r == -EFAULT);
	else
		CHECK(c.r == 0 && t_now() - start >= SLEEP_MS * T_MS);
	printf("%s: %s\n", how, c.r ? "an error" : "slept");
	if (rest != (void *)8)
		CHECK(rest->tv_sec == 0 && rest->tv_nsec > 0 &&
		      rest->tv_nsec < (SLEEP_MS - 10) * T_MS);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec longer = { 0, SLEEP_MS * T_MS };
	int up[2], down[2], st;
	pid_t pid;

	CHECK(argc == 2);
	t_pipe(up);
	t_pipe(down);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(in_child(argv[1], up[1], down[0]));
	t_get(up[0]);
	t_rested(pid);
	CHECK_0(kill(pid, SIGSTOP));
	CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
	if (!strcmp(argv[1], "over"))
		CHECK_0(nanosleep(&longer, NULL));
	CHECK_0(kill(pid, SIGCONT));
	t_put(down[1], 'c');
	st = t_wait(pid);
	CHECK(WIFEXITED(st));
	return WEXITSTATUS(st);
}
