/*
 * A process that gives up what it may do, when its other threads have ended or
 * while they end: no kernel thread of it is left that may do more.
 *
 * t-case: alone
 * t-case: again
 * t-case: id
 * t-case: handler
 * t-case: meanwhile
 * t-case: each
 */
#include <stdbool.h>
#include <dirent.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include "t.h"

static char own[256];

/* The lines of a status that tell what a thread may do. */
static void restrictions(const char *path, char *out, size_t size)
{
	static const char *const keys[] = { "Uid:",    "CapPrm:",    "CapEff:",
					    "CapBnd:", "NoNewPrivs:", "Seccomp:" };
	char line[256];
	FILE *f = fopen(path, "r");
	size_t n = 0;

	out[0] = 0;
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < T_LEN(keys); i++)
			if (!strncmp(line, keys[i], strlen(keys[i])))
				n += (size_t)snprintf(out + n, size - n, "%s",
						      line);
	if (f)
		fclose(f);
}

/* As another process sees it. */
static int unlike_main(int pid)
{
	char dir[64], path[400], other[256];
	struct dirent *e;
	int unlike = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/task", pid);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	restrictions(path, own, sizeof(own));
	CHECK((d = opendir(dir)));
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/status", dir, e->d_name);
		restrictions(path, other, sizeof(other));
		if (other[0] && strcmp(own, other))
			unlike++;
	}
	closedir(d);
	return unlike;
}

/* Until it is as it will be: threads that end take their time. */
static void look(const char *when)
{
	pid_t parent = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		while (unlike_main(parent))
			t_settle();
		_exit(0);
	}
	CHECK(WEXITSTATUS(t_wait(pid)) == 0);
	t_say("%s: no kernel thread may do something else", when);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	CHECK(syscall(SYS_capset, &h, d) == 0);
}

static void filter(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { T_LEN(f), f };

	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0);
}

static void sandbox(void)
{
	if (geteuid() == 0)
		CHECK(prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	drop_capabilities();
}

static void *inherits(void *arg)
{
	char mine[256];

	restrictions("/proc/thread-self/status", mine, sizeof(mine));
	CHECK(strcmp(own, mine) == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	return arg;
}

static pthread_barrier_t bar;

static void *stays(void *arg)
{
	if (arg)
		sandbox();
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar);
	return NULL;
}

/* Main has done it, and others have yet to end; or each does it. */
static void with_others(bool each)
{
	pthread_t t[4];

	CHECK_0(pthread_barrier_init(&bar, NULL, 5));
	for (int i = 0; i < 4; i++)
		t[i] = t_thread(stays, each ? &bar : NULL);
	sandbox();
	pthread_barrier_wait(&bar);
	if (each) {
		look("each for itself");
		/* What waits is woken still, by time and by others. */
		t_settle();
	}
	pthread_barrier_wait(&bar);
	for (int i = 0; i < 4; i++)
		t_join(t[i]);
	look("when they have ended");
	restrictions("/proc/self/status", own, sizeof(own));
	t_join(t_thread(inherits, NULL));
	look("and another");
}

static void on_signal(int sig)
{
	(void)sig;
	sandbox();
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	for (int i = 0; i < 5; i++)
		t_be_threaded();
	if (!strcmp(argv[1], "handler")) {
		CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
		CHECK(kill(getpid(), SIGUSR1) == 0);
		look("in a handler");
		return 0;
	}
	if (!strcmp(argv[1], "id")) {
		if (geteuid() == 0)
			CHECK(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
		look("another user");
		return 0;
	}
	if (!strcmp(argv[1], "meanwhile") || !strcmp(argv[1], "each")) {
		with_others(!strcmp(argv[1], "each"));
		return 0;
	}
	sandbox();
	look("no capabilities");
	if (!strcmp(argv[1], "again")) {
		restrictions("/proc/self/status", own, sizeof(own));
		for (int i = 0; i < 5; i++)
			t_join(t_thread(inherits, NULL));
		look("and threads");
	}
	filter();
	CHECK_ERR(syscall(SYS_getppid), EXDEV);
	look("and a filter");
	return 0;
}
