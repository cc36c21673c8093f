/*
 * A signal that is ignored, and was not blocked before a sigwait() for it, is dropped when
 * it is sent: the sigwait() goes on, and accepts the next one. One that was blocked it
 * accepts, ignored or not. What is sent to the process goes by the mask of main.
 * t-case: thread ignored
 * t-case: thread default
 * t-case: thread queued
 * t-case: thread blocked
 * t-case: process ignored
 * t-case: process default
 * t-case: process blocked
 * t-case: child ignored
 * t-case: child default
 * t-case: child blocked
 */
#include "t.h"

static sigset_t first, last, both;
static int sig, end;
static int ready[2];

static void set_masks(int how)
{
	CHECK_0(pthread_sigmask(SIG_BLOCK, &last, NULL));
	CHECK_0(pthread_sigmask(how, &first, NULL));
}

static void accepts(void)
{
	int got = sigwaitinfo(&both, NULL);

	t_say("accepted the %s", got == sig ? "first" :
				 got == end ? "last" :
					      "wrong one");
	if (got != end)
		CHECK(sigwaitinfo(&both, NULL) == end);
}

static void *waits(void *how)
{
	set_masks(*(int *)how);
	t_put(ready[1], 'r');
	accepts();
	return NULL;
}

static void to_thread(int how)
{
	pthread_t th = t_thread(waits, &how);

	CHECK(t_get(ready[0]) == 'r');
	t_settle();
	CHECK_0(pthread_kill(th, sig));
	CHECK_0(pthread_kill(th, end));
	t_join(th);
}

static void *sends(void *pid)
{
	t_settle();
	CHECK(kill(*(pid_t *)pid, sig) == 0);
	CHECK(kill(*(pid_t *)pid, end) == 0);
	return NULL;
}

static void to_process(int how)
{
	pid_t pid = getpid();
	pthread_t th;

	set_masks(how);
	th = t_thread(sends, &pid);
	accepts();
	t_join(th);
}

static void from_child(int how)
{
	pid_t me = getpid(), pid;

	set_masks(how);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		sends(&me);
		_exit(0);
	}
	accepts();
	t_wait_ok(pid);
}

int main(int argc, char **argv)
{
	int how;

	CHECK(argc == 3);
	how = argv[2][0] == 'b' ? SIG_BLOCK : SIG_UNBLOCK;
	sig = argv[2][0] == 'd' ? SIGWINCH :
	      argv[2][0] == 'q' ? SIGRTMIN :
				  SIGUSR1;
	end = SIGRTMIN + 1;
	sigemptyset(&first);
	sigaddset(&first, sig);
	sigemptyset(&last);
	sigaddset(&last, end);
	both = first;
	sigaddset(&both, end);
	if (sig != SIGWINCH)
		CHECK(signal(sig, SIG_IGN) != SIG_ERR);
	t_pipe(ready);
	t_be_threaded();
	if (argv[1][0] == 't')
		to_thread(how);
	else if (argv[1][0] == 'p')
		to_process(how);
	else
		from_child(how);
	return 0;
}
