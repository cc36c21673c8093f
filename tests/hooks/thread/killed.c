/*
 * A thread under a filter that does what it may not is killed, and it alone: what
 * it held is handed on, who joins it is told, and the others go on.
 *
 * t-case: strict
 * t-case: filter
 * t-case: creates
 * t-no-stats: under a filter the counters are not written
 */
#include "t.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static pthread_mutex_t robust;
static int to[2], from[2];

static void install(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
}

static void *is_killed(void *how)
{
	CHECK_0(pthread_mutex_lock(&robust));
	if (how)
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	else
		install();
	t_put(from[1], 'k');
	syscall(SYS_getppid);
	t_put(from[1], '!');
	return NULL;
}

static void *under(void *arg)
{
	(void)arg;
	syscall(SYS_getppid);
	t_put(from[1], '!');
	return NULL;
}

/* One that inherits the filter is killed, and its creator is not. */
static void *creates(void *arg)
{
	CHECK_0(pthread_mutex_lock(&robust));
	install();
	t_put(from[1], 'k');
	t_join(t_thread(under, NULL));
	t_say("its creator is told");
	syscall(SYS_getppid);
	return arg;
}

static void *echoes(void *arg)
{
	char c;

	while (read(to[0], &c, 1) == 1)
		t_put(from[1], c);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "strict";
	pthread_mutexattr_t a;
	pthread_t t, u;
	char c;

	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK_0(pthread_mutex_init(&robust, &a));
	t_pipe(to);
	t_pipe(from);
	u = t_thread(echoes, NULL);
	t = t_thread(how[0] == 'c' ? creates : is_killed,
		     how[0] == 's' ? to : NULL);
	CHECK(read(from[0], &c, 1) == 1 && c == 'k');
	t_join(t);
	t_say("joined");
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
	t_say("the owner died");
	for (c = 'a'; c < 'z'; c++) {
		char got;

		t_put(to[1], c);
		CHECK(read(from[0], &got, 1) == 1 && got == c);
	}
	close(to[1]);
	t_join(u);
	t_say("end");
	return 0;
}
