/*
 * Children belong to the thread that made them: it alone finds them with
 * __WNOTHREAD and traces them, and when it ends they get their PR_SET_PDEATHSIG,
 * and no sooner, whatever the child was made with.
 *
 * t-case: nothread fork
 * t-case: nothread vfork
 * t-case: ends fork
 * t-case: ends vfork
 * t-case: lives fork
 * t-case: lives vfork
 * t-case: trace fork
 */
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include "t.h"

enum { OTHERS = 6 };

static int by_vfork;
static int up[2], made[2], stay[2], go[2];
static pid_t child;

/* The child says that it is there, and stays until the pipe is closed. */
static void be_child(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(2);
	if (by_vfork) {
		char *argv[] = { "sh", "-c", "echo x >&3; read x <&4", NULL };

		dup2(up[1], 63);
		dup2(stay[0], 62);
		dup2(63, 3);
		dup2(62, 4);
		/* What it holds of the other end would keep it. */
		for (int fd = 5; fd < 64; fd++)
			close(fd);
		execvp("sh", argv);
		_exit(3);
	}
	close(stay[1]);
	t_put(up[1], 'x');
	t_eof(stay[0]);
	_exit(7);
}

static void make_child(void)
{
	child = by_vfork ? vfork() : fork();
	CHECK(child >= 0);
	if (child == 0)
		be_child();
	CHECK(t_get(up[0]) == 'x');
}

static void *makes(void *arg)
{
	/* Not on the kernel thread that it began on, perhaps. */
	sched_yield();
	t_settle();
	make_child();
	t_put(made[1], 'r');
	CHECK(t_get(go[0]) == 'g');
	return arg;
}

static void *waits_in_vain(void *arg)
{
	CHECK_ERR(waitpid(child, NULL, __WNOTHREAD | WNOHANG), ECHILD);
	return arg;
}

static void *makes_and_waits(void *arg)
{
	make_child();
	for (int i = 0; i < OTHERS; i++)
		t_join(t_thread(waits_in_vain, NULL));
	CHECK(waitpid(child, NULL, __WNOTHREAD | WNOHANG) == 0);
	t_close(stay[1]);
	CHECK(waitpid(child, NULL, __WNOTHREAD) == child);
	return arg;
}

/* They have kernel threads of their own, and end with them. */
static void *another(void *arg)
{
	CHECK(prctl(PR_SET_TIMERSLACK, 60000) == 0);
	return arg;
}

static void *traces(void *arg)
{
	int st;

	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(errno == EPERM ? 77 : 2);
		raise(SIGSTOP);
		_exit(9);
	}
	t_settle();
	CHECK(waitpid(child, &st, 0) == child);
	if (WIFEXITED(st) && WEXITSTATUS(st) == 77)
		t_skip("tracing is not allowed");
	CHECK(WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
	CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
	CHECK(waitpid(child, &st, 0) == child && WEXITSTATUS(st) == 9);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int st;

	CHECK(argc == 3);
	by_vfork = !strcmp(argv[2], "vfork");
	t_pipe(up);
	t_pipe(made);
	t_pipe(stay);
	t_pipe(go);
	t_be_threaded();
	if (!strcmp(argv[1], "trace")) {
		t_join(t_thread(traces, NULL));
		t_say("traced");
		return 0;
	}
	if (!strcmp(argv[1], "nothread")) {
		t_join(t_thread(makes_and_waits, NULL));
		t_say("found by its creator alone");
		return 0;
	}
	t = t_thread(makes, NULL);
	CHECK(t_get(made[0]) == 'r');
	for (int i = 0; i < OTHERS; i++)
		t_join(t_thread(another, NULL));
	CHECK(waitpid(child, &st, WNOHANG) == 0);
	if (!strcmp(argv[1], "lives")) {
		t_settle();
		CHECK(waitpid(child, &st, WNOHANG) == 0);
		t_close(stay[1]);
		CHECK(waitpid(child, &st, 0) == child && WIFEXITED(st));
		t_put(go[1], 'g');
		t_join(t);
		t_say("lived as long as it liked");
		return 0;
	}
	t_put(go[1], 'g');
	t_join(t);
	CHECK(waitpid(child, &st, 0) == child);
	t_say("ended by signal %d", WIFSIGNALED(st) ? WTERMSIG(st) : 0);
	return 0;
}
