/*
 * Signals with their default action end the process, whatever main and the
 * threads are blocked in.
 * t-case: TERM child accept => signal TERM
 * t-case: TERM thread accept => signal TERM
 * t-case: INT child read => signal INT
 * t-case: HUP child join => signal HUP
 * t-case: USR1 thread sleep => signal USR1
 * t-case: KILL child poll => signal KILL
 * t-case: ALRM child cond => signal ALRM
 * t-case: TERM child compute => signal TERM
 * t-case: TERM raise main => signal TERM
 * t-case: TERM raise thread => signal TERM
 * t-case: PIPE raise thread => signal PIPE
 * t-case: SEGV raise main => signal SEGV
 * t-case: ABRT raise thread => signal ABRT
 * t-case: QUIT pthread_kill thread => signal QUIT
 * t-case: RTMIN raise thread => signal RTMIN
 */
#include "t.h"
#include <sys/resource.h>

static int sig;
static volatile int sink;

static void *blocked(void *arg)
{
	t_eof(*(int *)arg);
	return NULL;
}

static void *raiser(void *arg)
{
	CHECK(raise(sig) == 0);
	return arg;
}

static void *killer(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &all, NULL));
	t_settle();
	CHECK(kill(getpid(), sig) == 0);
	t_eof(*(int *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int sig;
	} names[] = { { "TERM", SIGTERM }, { "INT", SIGINT },
		      { "HUP", SIGHUP },   { "USR1", SIGUSR1 },
		      { "KILL", SIGKILL }, { "ALRM", SIGALRM },
		      { "PIPE", SIGPIPE }, { "SEGV", SIGSEGV },
		      { "ABRT", SIGABRT }, { "QUIT", SIGQUIT } };
	pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct rlimit none = { 0, 0 };
	struct pollfd pf;
	pthread_t th[5];
	int p[2], port, l = t_listen(&port);

	CHECK(argc == 4);
	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	sig = SIGRTMIN;
	for (size_t i = 0; i < T_LEN(names); i++)
		if (strcmp(argv[1], names[i].name) == 0)
			sig = names[i].sig;
	t_pipe(p);
	for (int i = 0; i < 5; i++)
		th[i] = t_thread(blocked, &p[0]);
	t_settle();
	t_say("dying");
	if (strcmp(argv[2], "raise") == 0) {
		if (strcmp(argv[3], "thread") == 0)
			t_join(t_thread(raiser, NULL));
		raise(sig);
	} else if (strcmp(argv[2], "pthread_kill") == 0) {
		CHECK_0(pthread_kill(th[2], sig));
	} else if (strcmp(argv[2], "thread") == 0) {
		t_thread(killer, &p[0]);
	} else {
		pid_t parent = getpid(), pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			t_settle();
			kill(parent, sig);
			_exit(0);
		}
	}
	pf = (struct pollfd){ p[0], POLLIN, 0 };
	for (;;) {
		switch (argv[3][0]) {
		case 'a':
			accept(l, NULL, NULL);
			break;
		case 'r':
			t_eof(p[0]);
			break;
		case 's':
			sleep(100);
			break;
		case 'p':
			poll(&pf, 1, -1);
			break;
		case 'j':
			t_join(th[0]);
			break;
		case 'c':
			if (argv[3][2] == 'n') {
				CHECK_0(pthread_mutex_lock(&mu));
				pthread_cond_wait(&cond, &mu);
			}
			for (;;)
				sink++;
			break;
		default:
			pause();
		}
	}
}
