/*
 * Who stops or ends his own process does not go on: the call returns after it.
 *
 * t-case: raise STOP main
 * t-case: raise STOP thread
 * t-case: kill STOP main
 * t-case: tgkill STOP thread
 * t-case: sigqueue STOP main
 * t-case: group STOP main
 * t-case: raise TSTP main
 * t-case: raise TSTP thread
 * t-case: kill TSTP main
 * t-case: group TSTP main
 * t-case: raise TTIN thread
 * t-case: kill TTOU main
 * t-case: raise TERM thread
 * t-case: kill TERM main
 * t-case: group HUP main
 * t-case: sigqueue RTMIN thread
 * t-case: raise ABRT thread
 * t-case: abort ABRT thread
 * t-case: tgkill SEGV thread
 * t-case: raise TRAP thread
 */
#include <stdatomic.h>
#include <stdbool.h>
#include "t.h"

#define ROUNDS 30

static const struct {
	const char *name;
	int sig;
} names[] = { { "STOP", SIGSTOP }, { "TSTP", SIGTSTP }, { "TTIN", SIGTTIN },
	      { "TTOU", SIGTTOU }, { "TERM", SIGTERM }, { "HUP", SIGHUP },
	      { "ABRT", SIGABRT }, { "SEGV", SIGSEGV }, { "TRAP", SIGTRAP } };
static const char *how;
static int sig;

static void *self(void *arg)
{
	if (!strcmp(how, "raise"))
		CHECK(raise(sig) == 0);
	else if (!strcmp(how, "kill"))
		CHECK(kill(getpid(), sig) == 0);
	else if (!strcmp(how, "group"))
		CHECK(kill(0, sig) == 0);
	else if (!strcmp(how, "tgkill"))
		CHECK(tgkill(getpid(), gettid(), sig) == 0);
	else if (!strcmp(how, "sigqueue"))
		CHECK(sigqueue(getpid(), sig, (union sigval){ 1 }) == 0);
	else
		abort();
	_exit(21);
	return arg;
}

/*
 * A thread that is being born has its signals blocked, and looks for some when it
 * opens its mask: it might take one that is for all, and stop the process when
 * the sender has gone on.
 */
static atomic_int born;

static void *bystander(void *arg)
{
	born++;
	for (;;)
		pause();
	return arg;
}

static void child(bool thread)
{
	CHECK(setpgid(0, 0) == 0);
	t_thread(bystander, NULL);
	t_thread(bystander, NULL);
	while (born < 2)
		sched_yield();
	if (thread)
		t_join(t_thread(self, NULL));
	self(NULL);
}

static void round_of(bool thread, bool stops)
{
	pid_t pid = fork();
	int st;

	CHECK(pid >= 0);
	if (pid == 0)
		child(thread);
	CHECK(waitpid(pid, &st, WUNTRACED) == pid);
	if (stops) {
		CHECK(WIFSTOPPED(st));
		CHECK(WSTOPSIG(st) == sig);
		CHECK(kill(pid, SIGCONT) == 0);
		st = t_wait(pid);
		CHECK(WIFEXITED(st));
		CHECK(WEXITSTATUS(st) == 21);
	} else {
		CHECK(WIFSIGNALED(st));
		CHECK(WTERMSIG(st) == sig);
	}
}

int main(int argc, char **argv)
{
	bool stops;

	CHECK(argc == 4);
	how = argv[1];
	sig = SIGRTMIN;
	for (size_t i = 0; i < T_LEN(names); i++)
		if (!strcmp(argv[2], names[i].name))
			sig = names[i].sig;
	stops = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
		sig == SIGTTOU;
	t_be_threaded();
	for (int i = 0; i < ROUNDS; i++)
		round_of(!strcmp(argv[3], "thread"), stops);
	t_say("%s %s", how, argv[2]);
	return 0;
}
