/*
 * A small supervisor, on one thread: a fiber for each child that it keeps an eye
 * on, one for signals, one that looks up a name, and none holds up the others.
 */
#include <errno.h>
#include <fib.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3
#define SECOND	 1000000000ull

static int ended, tries[CHILDREN];

static void check(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
		exit(1);
	}
}

/* Starts child number @arg, and a second one when the first has failed. */
static void supervise(void *arg)
{
	int i = (int)(intptr_t)arg, status, failed = 1;

	while (failed) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(tries[i] == 0 && i == 1);
		check(fib_waitpid(pid, &status, 10 * SECOND), "fib_waitpid");
		failed = WEXITSTATUS(status);
		tries[i]++;
	}
	if (++ended == CHILDREN)
		kill(getpid(), SIGTERM);
}

static void wait_for_end(void *arg)
{
	check(fib_signal_wait(arg, NULL, FIB_NEVER), "fib_signal_wait");
	printf("told to end\n");
}

static void look_up(void *arg)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *list;
	int r = fib_getaddrinfo(arg, NULL, &hints, &list, 10 * SECOND);

	if (r)
		fprintf(stderr, "%s: %s\n", (char *)arg, gai_strerror(r));
	else
		freeaddrinfo(list);
}

int main(void)
{
	struct fib_sched *s;
	sigset_t end;

	/* Blocked before there are threads: theirs is a copy of this mask. */
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	check(fib_sched_create(&s, 1, true, "super"), "fib_sched_create");
	check(fib_sched_start(s), "fib_sched_start");
	check(fib_sched_submit(s, wait_for_end, &end, FIB_ANY_THREAD),
	      "fib_sched_submit");
	check(fib_sched_submit(s, look_up, "127.0.0.1", FIB_ANY_THREAD),
	      "fib_sched_submit");
	for (int i = 0; i < CHILDREN; i++)
		check(fib_sched_submit(s, supervise, (void *)(intptr_t)i,
				       FIB_ANY_THREAD),
		      "fib_sched_submit");
	check(fib_sched_stop(s), "fib_sched_stop");
	for (int i = 0; i < CHILDREN; i++)
		printf("child %d: done at try %d\n", i, tries[i]);
	return fib_sched_destroy(s);
}
