/*
 * A signal that is sent to a fork child at once, before it has run at all,
 * has its effect there: a handler that makes the default action happen, one
 * that ends the process, and the default action itself.
 *
 * t-case: again
 * t-case: leave
 * t-case: default
 */
#include <sys/resource.h>
#include "t.h"

enum { TURNS = 150, STATUS = 7 };

static void again(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), sig);
}

static void leave(int sig)
{
	(void)sig;
	_exit(STATUS);
}

static void *parked(void *sem)
{
	sem_wait(sem);
	return NULL;
}

static void children(int sig, void (*handler)(int))
{
	for (int i = 0; i < TURNS; i++) {
		int status;
		pid_t pid;

		CHECK(signal(sig, handler) != SIG_ERR);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			for (;;)
				pause();
		CHECK(kill(pid, sig) == 0);
		CHECK(waitpid(pid, &status, 0) == pid);
		if (handler == leave)
			CHECK(WIFEXITED(status) &&
			      WEXITSTATUS(status) == STATUS);
		else
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == sig);
	}
}

int main(int argc, char **argv)
{
	static const int sigs[] = { SIGTERM, SIGUSR1, SIGSEGV, SIGTRAP };
	struct rlimit none = { 0, 0 };
	pthread_t t;
	sem_t sem;

	CHECK(argc == 2 && setrlimit(RLIMIT_CORE, &none) == 0);
	CHECK(sem_init(&sem, 0, 0) == 0);
	CHECK(pthread_create(&t, NULL, parked, &sem) == 0);
	for (size_t i = 0; i < T_LEN(sigs); i++)
		children(sigs[i], strcmp(argv[1], "again") == 0 ? again :
				  strcmp(argv[1], "leave") == 0 ? leave :
								  SIG_DFL);
	CHECK(sem_post(&sem) == 0 && pthread_join(t, NULL) == 0);
	t_say("each ended by it");
	return 0;
}
