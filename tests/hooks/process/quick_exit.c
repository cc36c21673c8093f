/*
 * _exit and quick_exit from a thread.
 * t-case: _exit => exit 3
 * t-case: quick => exit 4
 * t-case: group => exit 6
 * t-no-stats: leaves without running exit handlers
 */
#include "t.h"

static void at_quick(void)
{
	t_say("at_quick_exit");
}

static void never(void)
{
	t_say("atexit must not run");
}

static void *leaves(void *arg)
{
	const char *how = arg;

	if (how[0] == 'q')
		quick_exit(4);
	else if (how[0] == 'g')
		syscall(SYS_exit_group, 6);
	_exit(3);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	CHECK(atexit(never) == 0);
	CHECK(at_quick_exit(at_quick) == 0);
	t_thread(leaves, argv[1]);
	for (;;)
		pause();
}
