/*
 * Threads that wait for children which another thread has made: each for its own,
 * several for one, for groups, for stops, with flags, with signals, cancelled.
 *
 * t-case: each
 * t-case: all
 * t-case: two
 * t-case: group
 * t-case: own_group
 * t-case: stops
 * t-case: look
 * t-case: eintr
 * t-case: restart
 * t-case: ignored
 * t-case: nocldwait
 * t-case: flags
 * t-case: traced
 * t-case: cancel
 * t-case: forks
 */
#include "t.h"
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

enum { N = 20 };

static int go[2]; /* a byte lets one child go */

static void end_child(void)
{
	_exit(t_get(go[0]));
}

static pid_t make(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		end_child();
	return pid;
}

/* By a pipe of its own. */
static pid_t make_held(int hold[2])
{
	pid_t pid;

	t_pipe(hold);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(t_get(hold[0]));
	return pid;
}

static void let_go(int status)
{
	t_put(go[1], (char)status);
}

/* --- each its own, all any ---------------------------------------------------- */

static struct {
	pid_t pid;
	int hold[2];
} child[N];

static void *wait_own(void *arg)
{
	int i = (int)(intptr_t)arg, st = 0;
	pid_t pid = child[i].pid;
	struct rusage ru;
	siginfo_t si;

	memset(&ru, 0xff, sizeof(ru));
	if (i % 3 == 0) {
		CHECK(waitpid(pid, &st, 0) == pid);
		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == i);
	} else if (i % 3 == 1) {
		CHECK(wait4(pid, &st, 0, &ru) == pid);
		CHECK(WIFEXITED(st) && WEXITSTATUS(st) == i);
		CHECK(ru.ru_maxrss > 0);
	} else {
		CHECK(waitid(P_PID, (id_t)pid, &si, WEXITED) == 0);
		CHECK(si.si_pid == pid && si.si_signo == SIGCHLD);
		CHECK(si.si_code == CLD_EXITED && si.si_status == i);
	}
	CHECK_ERR(waitpid(pid, &st, WNOHANG), ECHILD);
	return arg;
}

static void each(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		child[i].pid = make_held(child[i].hold);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(wait_own, (void *)(intptr_t)i);
	t_settle();
	for (int i = N - 1; i >= 0; i--)
		t_put(child[i].hold[1], (char)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("each had its own");
}

static int sum;

static void *wait_any(void *arg)
{
	siginfo_t si;
	int st;

	if (arg) {
		CHECK(waitid(P_ALL, 0, &si, WEXITED) == 0);
		st = si.si_status;
	} else {
		CHECK(wait(&st) > 0 && WIFEXITED(st));
		st = WEXITSTATUS(st);
	}
	__atomic_add_fetch(&sum, st, __ATOMIC_SEQ_CST);
	return NULL;
}

static void all(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		make();
	for (int i = 0; i < N; i++)
		th[i] = t_thread(wait_any, i % 2 ? "waitid" : NULL);
	t_settle();
	for (int i = 0; i < N; i++)
		let_go(i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_ERR(wait(NULL), ECHILD);
	t_say("all were found, sum %d", sum);
}

/* --- several for one ------------------------------------------------------------ */

static pid_t one;
static int options, found, none;

static void *wait_one(void *arg)
{
	pid_t r = waitpid(arg ? -1 : one, NULL, options);

	if (r == one) {
		__atomic_add_fetch(&found, 1, __ATOMIC_SEQ_CST);
	} else {
		CHECK(r == -1 && errno == ECHILD);
		__atomic_add_fetch(&none, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void end_ones(int n, const char *what)
{
	pthread_t th[N];

	for (int i = 0; i < n; i++)
		th[i] = t_thread(wait_one, i % 2 ? "any" : NULL);
	t_settle();
	let_go(0);
	for (int i = 0; i < n; i++)
		t_join(th[i]);
	t_say("%s: %d found it, %d none", what, found, none);
}

static void two(void)
{
	one = make();
	end_ones(5, "several");
}

static void ignored(void)
{
	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	one = make();
	end_ones(3, "ignored");
}

static int told;

static void tell(int sig)
{
	(void)sig;
	__atomic_add_fetch(&told, 1, __ATOMIC_SEQ_CST);
}

static void nocldwait(void)
{
	t_handle(SIGCHLD, tell, SA_NOCLDWAIT | SA_RESTART);
	for (int i = 1; i <= 20; i++) {
		none = 0;
		one = make();
		end_ones(1, "no zombie");
		CHECK(told == i);
	}
}

/* --- groups --------------------------------------------------------------------- */

static void *wait_group(void *arg)
{
	siginfo_t si;
	int st;

	CHECK(waitid(P_PGID, (id_t)one, &si, WEXITED | WNOWAIT) == 0);
	CHECK(si.si_pid == one && si.si_status == 3);
	CHECK(waitpid(-one, &st, 0) == one && WEXITSTATUS(st) == 3);
	CHECK_ERR(waitpid(-one, &st, 0), ECHILD);
	return arg;
}

static void group(void)
{
	int hold[2], other;
	pthread_t th;

	other = make();
	one = make_held(hold);
	CHECK(setpgid(one, one) == 0);
	th = t_thread(wait_group, NULL);
	t_settle();
	let_go(5);
	t_settle();
	t_put(hold[1], 3);
	t_join(th);
	CHECK(WEXITSTATUS(t_wait(other)) == 5);
	t_say("of that group alone");
}

static void *wait_own_group(void *arg)
{
	CHECK(waitpid(0, NULL, 0) == one);
	return arg;
}

static void own_group(void)
{
	pid_t other = make();
	pthread_t th;
	int hold[2];

	CHECK(setpgid(other, other) == 0);
	one = make_held(hold);
	th = t_thread(wait_own_group, NULL);
	t_settle();
	let_go(5);
	t_settle();
	t_put(hold[1], 0);
	t_join(th);
	CHECK(WEXITSTATUS(t_wait(other)) == 5);
	t_say("of the own group");
}

/* --- what else there is to wait for ---------------------------------------------- */

static void *wait_stops(void *arg)
{
	siginfo_t si;
	int st;

	CHECK(waitpid(one, &st, WUNTRACED) == one);
	CHECK(WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
	t_put(*(int *)arg, 's');
	CHECK(waitid(P_PID, (id_t)one, &si, WCONTINUED) == 0);
	CHECK(si.si_code == CLD_CONTINUED && si.si_status == SIGCONT);
	t_put(*(int *)arg, 'c');
	CHECK(waitid(P_ALL, 0, &si, WSTOPPED | WEXITED) == 0);
	CHECK(si.si_code == CLD_STOPPED && si.si_status == SIGSTOP);
	t_put(*(int *)arg, 's');
	CHECK(waitpid(-1, &st, 0) == one);
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	return arg;
}

static void stops(void)
{
	int up[2];
	pthread_t th;

	t_pipe(up);
	one = make();
	th = t_thread(wait_stops, &up[1]);
	t_settle();
	CHECK(kill(one, SIGSTOP) == 0);
	CHECK(t_get(up[0]) == 's');
	CHECK(kill(one, SIGCONT) == 0);
	CHECK(t_get(up[0]) == 'c');
	CHECK(kill(one, SIGSTOP) == 0);
	CHECK(t_get(up[0]) == 's');
	CHECK(kill(one, SIGKILL) == 0);
	t_join(th);
	t_say("stopped, continued, stopped, killed");
}

static void *look_at(void *arg)
{
	siginfo_t si;

	CHECK(waitid(P_PID, (id_t)one, &si, WEXITED | WNOWAIT) == 0);
	CHECK(si.si_pid == one && si.si_status == 9);
	CHECK(waitid(P_ALL, 0, NULL, WEXITED | WNOWAIT) == 0);
	return arg;
}

static void look(void)
{
	pthread_t th[3];

	one = make();
	for (int i = 0; i < 3; i++)
		th[i] = t_thread(look_at, NULL);
	t_settle();
	let_go(9);
	for (int i = 0; i < 3; i++)
		t_join(th[i]);
	CHECK(WEXITSTATUS(t_wait(one)) == 9);
	t_say("looked at by three");
}

/* --- signals, cancels --------------------------------------------------------------- */

static int waiting;

static void *wait_ended(void *arg)
{
	__atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
	CHECK_ERR(waitpid(one, NULL, 0), EINTR);
	__atomic_store_n(&waiting, 2, __ATOMIC_SEQ_CST);
	return arg;
}

/* A signal may come before it waits. */
static void interrupted(void)
{
	pthread_t th;

	t_handle(SIGUSR1, tell, 0);
	one = make();
	th = t_thread(wait_ended, NULL);
	while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 2) {
		if (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
			CHECK_0(pthread_kill(th, SIGUSR1));
		t_settle();
	}
	t_join(th);
	let_go(4);
	CHECK(WEXITSTATUS(t_wait(one)) == 4);
	t_say("interrupted");
}

static void *wait_on(void *arg)
{
	int st;

	__atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
	CHECK(waitpid(one, &st, 0) == one && WEXITSTATUS(st) == 6);
	return arg;
}

static void repeated(void)
{
	pthread_t th;

	t_handle(SIGUSR1, tell, SA_RESTART);
	one = make();
	th = t_thread(wait_on, NULL);
	while (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
		sched_yield();
	for (int i = 0; i < 10; i++) {
		CHECK_0(pthread_kill(th, SIGUSR1));
		t_settle();
	}
	let_go(6);
	t_join(th);
	CHECK(told > 0);
	t_say("went on");
}

static void cancel(void)
{
	pthread_t th;

	one = make();
	for (int i = 0; i < 5; i++) {
		th = t_thread(wait_on, NULL);
		if (i)
			t_settle();
		t_cancel(th);
		CHECK(t_join(th) == PTHREAD_CANCELED);
	}
	let_go(6);
	CHECK(WEXITSTATUS(t_wait(one)) == 6);
	t_say("cancelled, and the child is there");
}

/* --- whose children ------------------------------------------------------------------ */

static int run_silent(void *arg)
{
	(void)arg;
	end_child();
	return 0;
}

static void *wait_flags(void *arg)
{
	/* It sends no SIGCHLD when it ends. */
	CHECK_ERR(waitpid(one, NULL, 0), ECHILD);
	CHECK_ERR(waitpid(one, NULL, __WALL | __WNOTHREAD), ECHILD);
	CHECK(waitpid(-1, NULL, options) == one);
	return arg;
}

static void flags(void)
{
	static char stack[65536];
	static const int ways[] = { (int)__WALL, (int)__WCLONE };
	pthread_t th;

	for (int i = 0; i < 2; i++) {
		options = ways[i];
		one = clone(run_silent, stack + sizeof(stack), 0, NULL);
		CHECK(one > 0);
		th = t_thread(wait_flags, NULL);
		t_settle();
		let_go(0);
		t_join(th);
	}
	t_say("by __WALL and __WCLONE");
}

static void *wait_traced(void *arg)
{
	int st;

	CHECK(waitpid(one, &st, 0) == one);
	t_put(*(int *)arg, WIFSTOPPED(st) ? (char)WSTOPSIG(st) : 0);
	if (WIFSTOPPED(st))
		CHECK(waitpid(one, &st, 0) == one && WEXITSTATUS(st) == 8);
	return NULL;
}

static void traced(void)
{
	pthread_t th;
	int up[2];

	t_pipe(up);
	one = fork();
	CHECK(one >= 0);
	if (one == 0) {
		t_get(go[0]);
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGUSR2);
		_exit(8);
	}
	th = t_thread(wait_traced, &up[1]);
	t_settle();
	let_go(0);
	if (t_get(up[0]) != SIGUSR2)
		t_skip("tracing is not allowed");
	CHECK(ptrace(PTRACE_CONT, one, 0, 0) == 0);
	t_join(th);
	t_say("a stop of who is traced, and its end");
}

/* A child of a process whose threads wait is one that waits anew. */
static void forks(void)
{
	pthread_t th;
	pid_t pid;

	one = make();
	waiting = 0;
	th = t_thread(wait_on, NULL);
	t_settle();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_pipe(go);
		one = make();
		th = t_thread(wait_on, NULL);
		t_settle();
		let_go(6);
		t_join(th);
		_exit(0);
	}
	t_wait_ok(pid);
	let_go(6);
	t_join(th);
	t_say("waited in both");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "each", each },
	{ "all", all },
	{ "two", two },
	{ "group", group },
	{ "own_group", own_group },
	{ "stops", stops },
	{ "look", look },
	{ "eintr", interrupted },
	{ "restart", repeated },
	{ "ignored", ignored },
	{ "nocldwait", nocldwait },
	{ "flags", flags },
	{ "traced", traced },
	{ "cancel", cancel },
	{ "forks", forks },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	t_pipe(go);
	t_be_threaded();
	for (size_t i = 0; i < T_LEN(cases); i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	return 0;
}
