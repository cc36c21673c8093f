/*
 * The first thread has ended, and the others give up their rights: then nobody in
 * the process has them.
 */
#include <dirent.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include "t.h"

static pthread_t first;
static sem_t dropped[2];

static void drop(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { 0 };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_capset, &h, d) == 0);
}

static bool is_alive_with_rights(const char *path)
{
	char line[200], state = 0;
	unsigned long caps = 0;
	int privs = 0;
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "CapEff: %lx", &caps);
		sscanf(line, "NoNewPrivs: %d", &privs);
	}
	fclose(f);
	return state != 'Z' && state != 'X' && (caps || !privs);
}

/* As another process sees it, when what ends has ended. */
static void show(void)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		int n = 1;

		for (int turn = 0; n && turn < 100; turn++) {
			char path[300];
			struct dirent *e;
			DIR *d;

			snprintf(path, sizeof(path), "/proc/%d/task", parent);
			d = opendir(path);
			for (n = 0; d && (e = readdir(d));) {
				snprintf(path, sizeof(path),
					 "/proc/%d/task/%s/status", parent,
					 e->d_name);
				n += e->d_name[0] != '.' &&
				     is_alive_with_rights(path);
			}
			if (d)
				closedir(d);
			/* No event tells of what /proc says of a thread. */
			usleep(10000);
		}
		_exit(n);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	t_say("with rights: %d", WEXITSTATUS(status));
}

static void *other(void *arg)
{
	drop();
	sem_post(&dropped[0]);
	t_down(&dropped[1]);
	return arg;
}

static void *last(void *arg)
{
	pthread_t th = t_thread(other, NULL);

	CHECK_0(pthread_join(first, NULL));
	t_down(&dropped[0]);
	drop();
	show();
	sem_post(&dropped[1]);
	t_join(th);
	show();
	exit(0);
	return arg;
}

int main(void)
{
	if (geteuid() != 0)
		t_skip("not root");
	CHECK(sem_init(&dropped[0], 0, 0) == 0 &&
	      sem_init(&dropped[1], 0, 0) == 0);
	first = pthread_self();
	t_thread(last, NULL);
	pthread_exit(NULL);
}
