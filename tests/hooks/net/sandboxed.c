/*
 * Connections of a process with itself, and threads that end, under a filter that kills
 * for what the program does not ask: whose addresses they have, how many page faults.
 *
 * t-case: before
 * t-case: all
 * t-case: own
 * t-no-stats: under a filter the counters are not written
 */
#include <stdbool.h>
#include "t.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

enum { ROUNDS = 2000, THREADS = 20 };

static void filter(unsigned flags)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockname, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpeername, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p) == 0);
}

static bool each_for_itself;

static void *answers(void *arg)
{
	int fd = *(int *)arg;

	if (each_for_itself)
		filter(0);
	for (int i = 0; i < ROUNDS; i++)
		t_put(fd, t_get(fd));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *creates(void *arg)
{
	if (each_for_itself)
		filter(0);
	for (int i = 0; i < THREADS; i++)
		t_join(t_thread(nothing, NULL));
	return arg;
}

static void play(const char *what, int fd[2])
{
	pthread_t th = t_thread(answers, &fd[1]);

	for (int i = 0; i < ROUNDS; i++) {
		t_put(fd[0], (char)i);
		CHECK(t_get(fd[0]) == (char)i);
	}
	t_join(th);
	t_say("%s: answered", what);
}

int main(int argc, char **argv)
{
	int tcp[2], udp[2];

	CHECK(argc == 2);
	t_tcp_pair(tcp);
	t_udp_pair(udp);
	if (!strcmp(argv[1], "before"))
		filter(0);
	t_be_threaded();
	if (!strcmp(argv[1], "all"))
		filter(SECCOMP_FILTER_FLAG_TSYNC);
	each_for_itself = !strcmp(argv[1], "own");
	play("TCP", tcp);
	play("UDP", udp);
	t_join(t_thread(creates, NULL));
	t_say("threads ended");
	return 0;
}
