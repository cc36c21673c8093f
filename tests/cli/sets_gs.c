/*
 * Threads that set the base of %gs by an instruction, each its own, and find it again
 * after a wait. usage: sets_gs MODE LIBRARY, where the instruction is
 *   early   the library comes before the first thread
 *   late    behind the first thread, and the instruction is never made
 *   child   behind the first thread, in a child that then makes threads of its own
 */
#include "t.h"
#include <dlfcn.h>
#include <sys/auxv.h>

#define HWCAP2_FSGSBASE 2

/* f3 48 0f ae d8, in the midst of an instruction: this program sets nothing. */
static long volatile operand;

static void (*set)(void *);
static long (*get)(void);

/* A wait in which another thread runs: nothing is waited for but that. */
static void *wait_awhile(void *arg)
{
	usleep(1000);
	return arg;
}

static void *thread(void *arg)
{
	static long word[2] = { 17, 18 };
	long i = (long)arg;

	set(&word[i]);
	for (int turn = 0; turn < 10; turn++) {
		wait_awhile(NULL);
		CHECK(get() == word[i]);
	}
	return NULL;
}

static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	if (!lib)
		t_skip(dlerror());
	set = (void (*)(void *))dlsym(lib, "set_base");
	get = (long (*)(void))dlsym(lib, "get_word");
}

static void threads(void)
{
	pthread_t a, b;

	CHECK(set && get);
	a = t_thread(thread, (void *)0L);
	b = t_thread(thread, (void *)1L);
	t_join(a);
	t_join(b);
}

/* What it sets itself is there after calls of libc, and in children. */
static void in_child(const char *library)
{
	static long word = 19;
	pid_t pid;

	load(library);
	threads();
	set(&word);
	t_join(t_thread(wait_awhile, NULL));
	CHECK(get() == 19);
	pid = fork();
	if (!pid)
		_exit((int)get());
	CHECK(t_wait(pid) == 19 << 8);
	CHECK(system("exit 7") == 7 << 8);
	pid = vfork();
	if (!pid)
		_exit(20);
	CHECK(t_wait(pid) == 20 << 8);
	CHECK(get() == 19);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	__asm__ volatile("movabs $0xd8ae0f48f3, %0" : "=r"(operand));
	if (strcmp(argv[1], "late") &&
	    !(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
		t_skip("no FSGSBASE");
	if (!strcmp(argv[1], "early")) {
		load(argv[2]);
		threads();
	} else if (!strcmp(argv[1], "late")) {
		t_join(t_thread(wait_awhile, NULL));
		load(argv[2]);
		t_join(t_thread(wait_awhile, NULL));
	} else {
		pid_t pid;

		t_join(t_thread(wait_awhile, NULL));
		pid = fork();
		if (!pid) {
			in_child(argv[2]);
			_exit(0);
		}
		CHECK(t_wait(pid) == 0);
		t_join(t_thread(wait_awhile, NULL));
	}
	t_say("done");
	return 0;
}
