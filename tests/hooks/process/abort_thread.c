/*
 * abort() in a thread, with and without a handler.
 * t-case: plain => signal ABRT
 * t-case: handled => signal ABRT
 * t-case: jump => exit 0
 */
#include "t.h"
#include <setjmp.h>
#include <sys/resource.h>

static sigjmp_buf env;

static void on_abort(int sig)
{
	(void)sig;
	t_say("handler");
}

static void leaves(int sig)
{
	siglongjmp(env, sig);
}

static void *aborts(void *arg)
{
	if (arg && sigsetjmp(env, 1) != 0) {
		t_say("jumped out of abort");
		return NULL;
	}
	abort();
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };

	CHECK(argc == 2);
	CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
	if (argv[1][0] == 'h')
		t_handle(SIGABRT, on_abort, 0);
	if (argv[1][0] == 'j')
		t_handle(SIGABRT, leaves, 0);
	t_say("aborting");
	t_join(t_thread(aborts, argv[1][0] == 'j' ? &env : NULL));
	return 0;
}
