/*
 * A child by vfork(), or clone() with CLONE_VM, has the alternate stack and the name of
 * the thread that has made it.
 */
#include "t.h"
#include <sys/prctl.h>

static char alt[65536], stack[65536];
static volatile int on_alt;

static void handler(int sig)
{
	char here;

	(void)sig;
	on_alt = &here > alt && &here < alt + sizeof(alt);
}

static int named(const char *want)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return strcmp(name, want) == 0;
}

static int child(void *arg)
{
	stack_t ss;

	if (!named("maker"))
		return 1;
	if (arg)
		return 0;
	if (sigaltstack(NULL, &ss) != 0 || ss.ss_sp != alt ||
	    ss.ss_size != sizeof(alt) || ss.ss_flags != 0)
		return 2;
	raise(SIGUSR1);
	return on_alt ? 0 : 3;
}

static void *run(void *arg)
{
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) };
	pid_t pid;

	CHECK(prctl(PR_SET_NAME, "maker") == 0);
	CHECK(sigaltstack(&ss, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		on_alt = 0;
		pid = vfork();
		if (pid == 0)
			_exit(child(NULL));
		CHECK(pid > 0);
		t_wait_ok(pid);
		on_alt = 0;
		pid = clone(child, stack + sizeof(stack),
			    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		CHECK(pid > 0);
		t_wait_ok(pid);
		pid = clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD,
			    alt);
		CHECK(pid > 0);
		t_wait_ok(pid);
	}
	CHECK(sigaltstack(NULL, &ss) == 0);
	CHECK(ss.ss_sp == alt && ss.ss_flags == 0);
	ss.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&ss, NULL) == 0);
	return arg;
}

int main(void)
{
	t_handle(SIGUSR1, handler, SA_ONSTACK);
	t_join(t_thread(run, NULL));
	run(NULL);
	t_say("a thread and main");
	return 0;
}
