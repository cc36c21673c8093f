/*
 * A thread computes on a stack that ends where it is, as code of a JIT compiler may whose
 * stack pointer is in a heap; its handlers have an alternate stack. What others do to the
 * thread meanwhile, and signals, write nothing there.
 *
 * t-case: affinity
 * t-case: signal
 * t-case: ignored
 * t-case: fork
 */
#include "t.h"
#include <sched.h>
#include <stdatomic.h>

enum { SIZE = 65536, RED_ZONE = 128, ROUNDS = 20 };

static unsigned char area[SIZE] __attribute__((aligned(64)));
static atomic_int go_on = 1, spins, handled;

/* A turn of the caller's with its stack pointer in the area: no calls, no pushes. */
static void spin(void)
{
	register long n __asm__("rcx") = 10000;
	register void *sp __asm__("rdx") = area + SIZE / 2;

	__asm__ volatile("xchgq %%rsp, %1\n"
			 "1:	decq %0\n"
			 "	jnz 1b\n"
			 "	xchgq %%rsp, %1"
			 : "+r"(n), "+r"(sp)
			 :
			 : "memory", "cc");
}

static void *computes(void *arg)
{
	static char alt[1 << 16];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) };

	CHECK(sigaltstack(&ss, NULL) == 0);
	memset(area, 0xa5, SIZE);
	for (spins = 1; go_on; spins++)
		spin();
	for (int i = 0; i < SIZE; i++)
		CHECK(area[i] == 0xa5);
	return arg;
}

static void handler(int sig)
{
	handled += sig == SIGUSR1;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	cpu_set_t all;
	pthread_t th;

	t_handle(SIGUSR1, handler, SA_ONSTACK | SA_RESTART);
	t_handle(SIGUSR2, SIG_IGN, 0);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	th = t_thread(computes, &th);
	while (!spins)
		t_settle();
	for (int i = 0; i < ROUNDS; i++) {
		if (!strcmp(how, "affinity"))
			CHECK_0(pthread_setaffinity_np(th, sizeof(all), &all));
		if (!strcmp(how, "signal"))
			CHECK_0(pthread_kill(th, SIGUSR1));
		if (!strcmp(how, "ignored"))
			CHECK_0(pthread_kill(th, SIGUSR2));
		if (!strcmp(how, "fork")) {
			pid_t pid = fork();

			CHECK(pid >= 0);
			if (pid == 0)
				_exit(0);
			t_wait_ok(pid);
		}
		t_settle();
	}
	if (!strcmp(how, "signal"))
		while (!handled)
			t_settle();
	go_on = 0;
	t_join(th);
	t_say("nothing was written");
	return 0;
}
