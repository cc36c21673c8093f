/*
 * Threads that install filters or give up capabilities while others live, which
 * then end: no kernel thread of the process is left that may do more than those
 * that live. What they do after that works: waiting, signals, new threads.
 *
 * t-case: main
 * t-case: main twice
 * t-case: thread
 * t-case: late
 * t-case: other
 * t-case: tsync
 * t-case: listener
 * t-no-stats: under a filter the counters are not written
 */
#include <dirent.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include "t.h"

/* @nr is @action from now on. */
static int filter(unsigned nr, unsigned action, unsigned flags)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

/* @nr fails with EXDEV. */
static void deny(unsigned nr, unsigned flags)
{
	CHECK(filter(nr, SECCOMP_RET_ERRNO | EXDEV, flags) == 0);
	CHECK_ERR(syscall((long)nr, 0), EXDEV);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	CHECK(syscall(SYS_capset, &h, d) == 0);
}

/* Of those kernel threads of @pid that have not ended: do all have @line? */
static int all_have(int pid, const char *line)
{
	char dir[64], path[400], text[4096];
	struct dirent *e;
	int all = 1;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/task", pid);
	CHECK((d = opendir(dir)));
	while ((e = readdir(d))) {
		FILE *f;
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/status", dir, e->d_name);
		f = fopen(path, "r");
		n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
		if (f)
			fclose(f);
		text[n] = 0;
		if (n && !strstr(text, "State:\tZ") && !strstr(text, line))
			all = 0;
	}
	closedir(d);
	return all;
}

/* As another process sees it. Threads that end take their time. */
static void look(const char *when, const char *line)
{
	pid_t parent = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		while (!all_have(parent, line))
			t_settle();
		_exit(0);
	}
	CHECK(WEXITSTATUS(t_wait(pid)) == 0);
	t_say("%s: %s", when, line);
}

static int pipes[2];
static volatile int signals;

static void on_signal(int sig)
{
	signals += sig == SIGUSR1;
}

static void *reads(void *arg)
{
	char c;

	CHECK(read(pipes[0], &c, 1) == 1 && c == 'x');
	return arg;
}

/* Of the threads that there are and of new ones. */
static void works(void)
{
	struct timespec ts = { 0, T_MS };
	pthread_t t = t_thread(reads, NULL);
	int before = signals;

	CHECK(nanosleep(&ts, NULL) == 0);
	t_put(pipes[1], 'x');
	t_join(t);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	while (signals == before)
		t_settle();
}

static pthread_barrier_t bar;
static pthread_t main_thread;

static void *stays(void *arg)
{
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar);
	return arg;
}

static void by_main(int twice)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		t[i] = t_thread(stays, NULL);
	pthread_barrier_wait(&bar);
	deny(SYS_getppid, 0);
	if (twice)
		deny(SYS_getpgid, 0);
	pthread_barrier_wait(&bar);
	for (int i = 0; i < 3; i++)
		t_join(t[i]);
	look("others have ended", "Seccomp:\t2");
	works();
	look("and later",
	     twice ? "Seccomp_filters:\t2" : "Seccomp_filters:\t1");
	if (!twice) {
		deny(SYS_getpgid, 0);
		look("one more", "Seccomp_filters:\t2");
		works();
	}
}

/* Main ends before it, or after. */
static void *filtered(void *late)
{
	if (late)
		CHECK_0(pthread_join(main_thread, NULL));
	deny(SYS_getppid, 0);
	if (!late)
		CHECK_0(pthread_join(main_thread, NULL));
	look("main has ended", "Seccomp:\t2");
	works();
	exit(0);
}

static void *gives_up(void *arg)
{
	drop_capabilities();
	return stays(arg);
}

/* What one may not and what the other one may not are different things. */
static void *other(void *arg)
{
	pthread_t t = t_thread(gives_up, NULL);

	deny(SYS_getppid, 0);
	pthread_barrier_wait(&bar);
	CHECK_0(pthread_join(main_thread, NULL));
	pthread_barrier_wait(&bar);
	t_join(t);
	look("that one has ended", "Seccomp:\t2");
	works();
	exit(arg != NULL);
}

static void for_all(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		t[i] = t_thread(stays, NULL);
	pthread_barrier_wait(&bar);
	deny(SYS_getppid, SECCOMP_FILTER_FLAG_TSYNC);
	look("all at once", "Seccomp:\t2");
	works();
	look("and later", "Seccomp:\t2");
	pthread_barrier_wait(&bar);
	for (int i = 0; i < 3; i++)
		t_join(t[i]);
	look("others have ended", "Seccomp:\t2");
}

/* Who tries the filter before waits for an answer that nobody gives. */
static void with_listener(void)
{
	pthread_t t = t_thread(reads, NULL);
	int fd = filter(SYS_memfd_create, SECCOMP_RET_USER_NOTIF,
			SECCOMP_FILTER_FLAG_TSYNC |
				SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
				SECCOMP_FILTER_FLAG_NEW_LISTENER);

	CHECK(fd > 0);
	t_put(pipes[1], 'x');
	t_join(t);
	look("with a listener", "Seccomp:\t2");
}

int main(int argc, char **argv)
{
	CHECK(argc >= 2);
	t_pipe(pipes);
	main_thread = pthread_self();
	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	CHECK_0(pthread_barrier_init(&bar, NULL, argv[1][0] == 'o' ? 2 : 4));
	if (!strcmp(argv[1], "main")) {
		by_main(argc > 2);
	} else if (!strcmp(argv[1], "tsync")) {
		for_all();
	} else if (!strcmp(argv[1], "listener")) {
		with_listener();
	} else {
		t_thread(argv[1][0] == 'o' ? other : filtered,
			 argv[1][0] == 'l' ? &bar : NULL);
		pthread_exit(NULL);
	}
	return 0;
}
