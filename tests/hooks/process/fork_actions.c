/*
 * A fork child has the actions of its parent, with their flags and masks: few that are
 * not plain, many, and those of signals that faults raise; and so has a grandchild, and
 * what a child with a thread of its own forks. What it does not handle ends it. One that is
 * made by clone3() with CLONE_CLEAR_SIGHAND has none but what is ignored, and so has what
 * posix_spawn() starts.
 */
#include "t.h"
#include <linux/sched.h>
#include <spawn.h>
#include <sys/resource.h>

static void handler(int sig)
{
	if (sig == SIGSEGV)
		_exit(7);
}

static void set(int sig, void (*to)(int), int flags)
{
	struct sigaction a = { .sa_handler = to, .sa_flags = flags };

	sigaddset(&a.sa_mask, SIGUSR2);
	CHECK(!sigaction(sig, &a, NULL));
}

static struct sigaction had[65];

static void note(void)
{
	for (int sig = 1; sig < 65; sig++)
		if (sig != 32 && sig != 33)
			CHECK(!sigaction(sig, NULL, &had[sig]));
}

static void compare(void)
{
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction a;

		if (sig == 32 || sig == 33)
			continue;
		CHECK(!sigaction(sig, NULL, &a));
		CHECK(a.sa_handler == had[sig].sa_handler);
		CHECK(a.sa_flags == had[sig].sa_flags);
		CHECK(!memcmp(&a.sa_mask, &had[sig].sa_mask, 8));
	}
}

static void in_child(void (*what)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		what();
		_exit(0);
	}
	t_wait_ok(pid);
}

static void with_thread(void)
{
	compare();
	t_be_threaded();
	compare();
	in_child(compare);
}

static void deeper(void)
{
	compare();
	in_child(with_thread);
}

static void compare_cleared(void)
{
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction a;

		if (sig == 32 || sig == 33)
			continue;
		CHECK(!sigaction(sig, NULL, &a) && !a.sa_flags);
		CHECK(a.sa_handler ==
		      (had[sig].sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL));
	}
}

static void in_cleared(void)
{
	struct clone_args c = { .flags = CLONE_CLEAR_SIGHAND,
				.exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &c, sizeof(c));

	CHECK(pid >= 0);
	if (!pid) {
		compare_cleared();
		_exit(0);
	}
	t_wait_ok((pid_t)pid);
}

static char *self;

static void spawned(void)
{
	char ignored[65] = { 0 };
	char *argv[] = { self, ignored, NULL }, *env[] = { NULL };
	pid_t pid;

	for (int sig = 1; sig < 65; sig++)
		ignored[sig - 1] = had[sig].sa_handler == SIG_IGN ? 'i' : '-';
	CHECK_0(posix_spawn(&pid, self, NULL, NULL, argv, env));
	t_wait_ok(pid);
}

static int is_spawned(const char *ignored)
{
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction a;

		CHECK(sig == 32 || sig == 33 || !sigaction(sig, NULL, &a));
		if (sig != 32 && sig != 33)
			CHECK(a.sa_handler ==
			      (ignored[sig - 1] == 'i' ? SIG_IGN : SIG_DFL));
	}
	return 0;
}

static void check(const char *what)
{
	note();
	in_child(deeper);
	compare();
	in_cleared();
	spawned();
	compare();
	t_say("%s: the same", what);
}

/* Sent, and raised by a fault. */
static void dies_of(int sig)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		if (sig == SIGSEGV)
			*(volatile int *)8 = 1;
		kill(getpid(), sig);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	t_say("%d: %s %d", sig, WIFSIGNALED(status) ? "signal" : "exit",
	      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void all_die(void)
{
	static const int some[] = { SIGSEGV, SIGBUS,  SIGTRAP, SIGSYS,
				    SIGUSR1, SIGTERM, SIGCHLD };

	for (unsigned i = 0; i < T_LEN(some); i++)
		dies_of(some[i]);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return is_spawned(argv[1]);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	t_be_threaded();
	check("none");
	all_die();
	set(SIGCHLD, SIG_DFL, SA_NOCLDSTOP | SA_RESTART);
	set(SIGPIPE, SIG_IGN, SA_RESTART);
	CHECK(signal(SIGBUS, SIG_IGN) != SIG_ERR);
	set(SIGUSR1, handler, SA_RESETHAND | SA_NODEFER);
	check("some");
	all_die();
	set(SIGSEGV, handler, SA_ONSTACK);
	set(SIGTERM, SIG_IGN, 0);
	check("more");
	all_die();
	for (int sig = SIGRTMIN; sig < SIGRTMIN + 8; sig++)
		set(sig, handler, SA_RESTART);
	check("many");
	all_die();
	return 0;
}
