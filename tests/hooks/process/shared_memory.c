/*
 * A process that shares our memory, and is no thread: it is woken by threads of ours
 * for what it waits, and who waits for its end is woken by the kernel.
 * t-case: ended
 * t-case: semaphore
 * t-case: mutex
 * t-case: waitv
 */
#include <sched.h>
#include <linux/futex.h>
#include "t.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static char stack[65536] __attribute__((aligned(16)));
static uint32_t ctid, word;
static int go[2];
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static pid_t start(int (*fn)(void *), int flags)
{
	pid_t pid = clone(fn, stack + sizeof(stack), CLONE_VM | flags | SIGCHLD,
			  NULL, NULL, NULL, &ctid);

	CHECK(pid > 0);
	return pid;
}

static int on_go(void *arg)
{
	char c;

	(void)arg;
	return read(go[0], &c, 1) == 1 ? 7 : 1;
}

static void *puts_later(void *arg)
{
	t_settle();
	t_settle();
	t_put(go[1], 'x');
	return arg;
}

static void *ended(void *arg)
{
	pthread_t th;
	uint32_t now;
	pid_t pid;

	ctid = 1;
	pid = start(on_go, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID);
	th = t_thread(puts_later, NULL);
	while ((now = __atomic_load_n(&ctid, __ATOMIC_ACQUIRE)))
		CHECK(syscall(SYS_futex, &ctid, FUTEX_WAIT, now, NULL, NULL,
			      0) == 0 ||
		      errno == EAGAIN);
	t_join(th);
	CHECK(WEXITSTATUS(t_wait(pid)) == 7);
	return arg;
}

static int takes_sem(void *arg)
{
	(void)arg;
	t_down(&sem);
	return 7;
}

static void *semaphore(void *arg)
{
	pid_t pid;

	CHECK_0(sem_init(&sem, 0, 0));
	pid = start(takes_sem, 0);
	t_settle();
	CHECK_0(sem_post(&sem));
	CHECK(WEXITSTATUS(t_wait(pid)) == 7);
	return arg;
}

static int takes_mutex(void *arg)
{
	(void)arg;
	return pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex) ? 1 :
									    7;
}

static void *takes_turns(void *arg)
{
	pid_t pid;

	CHECK_0(pthread_mutex_lock(&mutex));
	pid = start(takes_mutex, 0);
	t_settle();
	CHECK_0(pthread_mutex_unlock(&mutex));
	CHECK(WEXITSTATUS(t_wait(pid)) == 7);
	return arg;
}

static int waits_for_words(void *arg)
{
	struct waitv v = { 0, (uintptr_t)&word, 2 | FUTEX_PRIVATE_FLAG, 0 };

	(void)arg;
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		if (syscall(SYS_futex_waitv, &v, 1, 0, NULL, 0) != 0 &&
		    errno != EAGAIN)
			return 1;
	return 7;
}

static void *waitv(void *arg)
{
	pid_t pid;

	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == -1 &&
	    errno == ENOSYS)
		t_skip("the kernel has no futex_waitv");
	word = 0;
	pid = start(waits_for_words, 0);
	t_settle();
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1,
		      NULL, NULL, 0) >= 0);
	CHECK(WEXITSTATUS(t_wait(pid)) == 7);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { { "ended", ended },
					       { "semaphore", semaphore },
					       { "mutex", takes_turns },
					       { "waitv", waitv } };

	CHECK(argc == 2);
	t_pipe(go);
	t_be_threaded();
	for (unsigned i = 0; i < T_LEN(cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].fn(NULL);
	t_run_case(cases, T_LEN(cases), argv[1]);
	t_say("%s: woken", argv[1]);
	return 0;
}
