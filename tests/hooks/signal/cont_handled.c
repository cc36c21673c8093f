/*
 * Who stops his own process and is continued finds, when the call returns, that the
 * handler of SIGCONT has run, if no other thread is for it.
 *
 * t-case: raise STOP main
 * t-case: raise STOP thread
 * t-case: kill STOP main
 * t-case: tgkill STOP main
 * t-case: group STOP main
 * t-case: sigqueue STOP main
 * t-case: pidfd STOP main
 * t-case: raise TSTP main
 * t-case: raise TSTP thread
 * t-case: kill TSTP main
 * t-case: group TSTP main
 * t-case: raise TTIN main
 * t-case: raise TTIN thread
 * t-case: kill TTOU thread
 * t-case: sigqueue TTOU main
 * t-case: unblock TSTP main
 * t-case: unblock TSTP thread
 */
#include <stdbool.h>
#include "t.h"

#define ROUNDS 40

static const struct {
	const char *name;
	int sig;
} names[] = { { "STOP", SIGSTOP },
	      { "TSTP", SIGTSTP },
	      { "TTIN", SIGTTIN },
	      { "TTOU", SIGTTOU } };
static const char *how;
static int sig;
static volatile sig_atomic_t hits;

static void on_cont(int n)
{
	(void)n;
	hits++;
}

static void stop(void)
{
	union sigval v = { .sival_int = 1 };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (!strcmp(how, "raise")) {
		CHECK(raise(sig) == 0);
	} else if (!strcmp(how, "kill")) {
		CHECK(kill(getpid(), sig) == 0);
	} else if (!strcmp(how, "tgkill")) {
		CHECK(tgkill(getpid(), gettid(), sig) == 0);
	} else if (!strcmp(how, "group")) {
		CHECK(kill(0, sig) == 0);
	} else if (!strcmp(how, "sigqueue")) {
		CHECK(sigqueue(getpid(), sig, v) == 0);
	} else if (!strcmp(how, "pidfd")) {
		fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
		if (fd < 0)
			_exit(77);
		CHECK(syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0);
		t_close(fd);
	} else {
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		CHECK(raise(sig) == 0);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	}
}

static void *stops(void *arg)
{
	sigset_t none;

	sigemptyset(&none);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &none, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		stop();
		if (hits != i + 1) {
			t_say("round %d: %d", i, (int)hits);
			_exit(21);
		}
	}
	_exit(0);
	return arg;
}

static void child(bool thread)
{
	sigset_t all;

	CHECK(setpgid(0, 0) == 0);
	t_handle(SIGCONT, on_cont, 0);
	sigfillset(&all);
	t_bystander();
	if (!thread)
		stops(NULL);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	t_join(t_thread(stops, NULL));
}

int main(int argc, char **argv)
{
	pid_t pid;
	int st;

	CHECK(argc == 4);
	how = argv[1];
	for (size_t i = 0; i < T_LEN(names); i++)
		if (!strcmp(argv[2], names[i].name))
			sig = names[i].sig;
	t_be_threaded();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child(!strcmp(argv[3], "thread"));
	for (;;) {
		CHECK(waitpid(pid, &st, WUNTRACED) == pid);
		if (!WIFSTOPPED(st))
			break;
		CHECK(WSTOPSIG(st) == sig);
		CHECK(kill(pid, SIGCONT) == 0);
	}
	if (WIFEXITED(st) && WEXITSTATUS(st) == 77)
		t_skip("no pidfd_open()");
	CHECK(WIFEXITED(st));
	t_say("%s %s: exit %d", how, argv[2], WEXITSTATUS(st));
	return WEXITSTATUS(st);
}
