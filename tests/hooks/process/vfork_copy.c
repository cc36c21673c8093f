/*
 * CLONE_VFORK for a child that has a copy of the memory: the caller waits until it
 * has exec'd or ended, and other threads go on meanwhile. And vfork() by its number.
 * t-case: ends
 * t-case: execs
 * t-case: own_stack
 * t-case: new_thread
 * t-case: number
 */
#include <linux/sched.h>
#include "t.h"

int clone(int (*)(void *), void *, int, void *, ...);

static char stack[65536] __attribute__((aligned(16)));
static int ready[2], go[2];
static volatile int *ended;

static void take_a_while(void)
{
	for (int i = 0; i < 10; i++)
		t_settle();
	*ended = 1;
}

static pid_t by_clone(int i)
{
	struct clone_args c = { .flags = CLONE_VFORK, .exit_signal = SIGCHLD };

	*ended = 0;
	return (pid_t)(i ? syscall(SYS_clone3, &c, sizeof(c)) :
			   syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0,
				   0));
}

static void *ends(void *arg)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = by_clone(i);

		CHECK(pid >= 0);
		if (pid == 0) {
			take_a_while();
			t_be_threaded();
			_exit(0);
		}
		CHECK(*ended == 1);
		t_wait_ok(pid);
	}
	return arg;
}

static void *execs(void *arg)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = by_clone(i);

		CHECK(pid >= 0);
		if (pid == 0) {
			take_a_while();
			if (dup2(go[0], 0) == 0)
				execl("/bin/sh", "sh", "-c", "read x", NULL);
			_exit(1);
		}
		CHECK(*ended == 1);
		t_put(go[1], '\n');
		t_wait_ok(pid);
	}
	return arg;
}

static int child(void *arg)
{
	(void)arg;
	take_a_while();
	return 12;
}

static void *own_stack(void *arg)
{
	pid_t pid;

	*ended = 0;
	pid = clone(child, stack + sizeof(stack), CLONE_VFORK | SIGCHLD, NULL);
	CHECK(pid > 0 && *ended == 1);
	CHECK(WEXITSTATUS(t_wait(pid)) == 12);
	return arg;
}

static int waits(void *arg)
{
	char c;

	(void)arg;
	return write(ready[1], "x", 1) == 1 && read(go[0], &c, 1) == 1 ? c : 99;
}

static void *puts_one(void *arg)
{
	t_put(go[1], 7);
	return arg;
}

static void *makes_one(void *arg)
{
	pthread_attr_t a;
	pthread_t th;

	t_get(ready[0]);
	CHECK_0(pthread_attr_init(&a));
	CHECK_0(pthread_attr_setstacksize(&a, 1 << 20));
	CHECK_0(pthread_create(&th, &a, puts_one, NULL));
	t_join(th);
	return arg;
}

static void *new_thread(void *arg)
{
	pthread_t th = t_thread(makes_one, NULL);
	pid_t pid = clone(waits, stack + sizeof(stack), CLONE_VFORK | SIGCHLD,
			  NULL);

	CHECK(pid > 0);
	CHECK(WEXITSTATUS(t_wait(pid)) == 7);
	t_join(th);
	return arg;
}

static void *number(void *arg)
{
	static const struct timespec ts = { 0, 30 * T_MS };
	struct pollfd p = { ready[0], POLLIN, 0 };
	long pid = SYS_vfork;

	/* In natively shared memory: nanosleep(), write(), exit_group(). */
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov $35, %%eax\n\t"
			 "mov %[ts], %%rdi\n\t"
			 "xor %%esi, %%esi\n\t"
			 "syscall\n\t"
			 "mov $1, %%eax\n\t"
			 "mov %[fd], %%edi\n\t"
			 "mov %[ts], %%rsi\n\t"
			 "mov $1, %%edx\n\t"
			 "syscall\n\t"
			 "mov $231, %%eax\n\t"
			 "xor %%edi, %%edi\n\t"
			 "syscall\n"
			 "1:"
			 : "+a"(pid)
			 : [ts] "r"(&ts), [fd] "b"(ready[1])
			 : "rcx", "r11", "rdi", "rsi", "rdx", "memory");
	CHECK(pid > 0);
	CHECK(poll(&p, 1, 0) == 1);
	t_wait_ok((pid_t)pid);
	t_get(ready[0]);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "ends", ends },
		{ "execs", execs },
		{ "own_stack", own_stack },
		{ "number", number },
		{ "new_thread", new_thread },
	};

	CHECK(argc == 2);
	ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(ended != MAP_FAILED);
	t_pipe(ready);
	t_pipe(go);
	t_be_threaded();
	for (unsigned i = 0; i < T_LEN(cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].fn(NULL);
	t_run_case(cases, T_LEN(cases), argv[1]);
	t_say("%s: waited for", argv[1]);
	return 0;
}
