/*
 * Threads that end by a system call instruction of the program's own: who joins
 * one goes on, and the process ends with the last.
 *
 * t-case: joined
 * t-case: all
 */
#include "t.h"

static pthread_t first;

__attribute__((noinline)) static void leave(void)
{
	__asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "memory");
	abort();
}

static void *leaves(void *arg)
{
	leave();
	return arg;
}

static void *last(void *arg)
{
	CHECK_0(pthread_join(first, NULL));
	t_say("main has ended");
	leave();
	return arg;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "joined")) {
		CHECK_0(pthread_join(t_thread(leaves, NULL), NULL));
		t_say("joined");
		return 0;
	}
	first = pthread_self();
	t_thread(last, NULL);
	leave();
	return 1;
}
