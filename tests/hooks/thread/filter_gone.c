/*
 * Threads under a filter have ended, by themselves or killed by it. What is left of
 * the process does nothing, and no thread of it wakes up.
 *
 * t-case: ended
 * t-case: killed
 * t-no-stats: they are not looked at
 */
#include "t.h"
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

enum { WINDOW_MS = 400, WINDOWS = 20, FEW = 8 };

/* getppid() kills its thread. */
static void install(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

static void *under_filter(void *arg)
{
	install();
	if (arg)
		getppid();
	return NULL;
}

/* How often the threads of @pid have gone to sleep, ever. */
static long switches(pid_t pid)
{
	char dir[64];
	struct dirent *e;
	long sum = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
	d = opendir(dir);
	CHECK(d);
	while ((e = readdir(d))) {
		char path[400], line[128];
		long n;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s/status", dir, e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) ==
			    1)
				sum += n;
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

/* The child, which sees all threads of its parent. */
static int watch(pid_t pid, int begin)
{
	struct timespec ts = t_ts(WINDOW_MS * T_MS);
	int i = 0;
	long n;

	t_eof(begin);
	do {
		n = switches(pid);
		CHECK(nanosleep(&ts, NULL) == 0);
		n = switches(pid) - n;
	} while (n >= FEW && ++i < WINDOWS);
	t_say("%s", i < WINDOWS ? "at rest" : "awake");
	return 0;
}

int main(int argc, char **argv)
{
	pid_t me = getpid(), pid;
	sigset_t chld;
	int p[2], sig;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &chld, NULL));
	t_pipe(p);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(p[1]);
		_exit(watch(me, p[0]));
	}
	t_join(t_thread(under_filter,
			argc > 1 && argv[1][0] == 'k' ? argv : NULL));
	t_close(p[1]);
	/* No kernel thread is held by that, and nobody looks after it. */
	CHECK_0(sigwait(&chld, &sig));
	t_wait_ok(pid);
	return 0;
}
