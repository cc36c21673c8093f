/* Many threads wait for words that other processes see. */
#ifndef MANY_H
#define MANY_H

#include "futex.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

enum { N = 24, BYSTANDERS = 6, ROUNDS = 150 };

/*
 * Chaos has waits begin anew: who does is not in the queue for a moment, and then
 * behind the others.
 */
static inline int chaos(void)
{
	return getenv("FIBHOOK_CHAOS") != NULL;
}

/* How many are in the kernel's queue: they move to where they are. */
static inline int waiters(uint32_t *word)
{
	long n = futex(word, FUTEX_CMP_REQUEUE, 0, (void *)(long)INT_MAX, word,
		       *word);

	CHECK(n >= 0);
	return (int)n;
}

static inline void await(uint32_t *word, int n)
{
	while (waiters(word) != n)
		sched_yield();
}

static inline long wake(uint32_t *word, int n)
{
	return futex(word, FUTEX_WAKE, (uint32_t)n, NULL, NULL, 0);
}

static inline void join(pthread_t *th, int n)
{
	for (int i = 0; i < n; i++)
		t_join(th[i]);
}

/* For all threads: io_uring, which the library alone needs, kills. */
static inline void forbid_uring(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1,
			 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0);
}

#endif
