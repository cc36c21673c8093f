/*
 * waitid() where its results do not fit: what of them is written, in which order,
 * and whether the child is gone then.
 */
#include "t.h"
#include <sys/resource.h>

static char *end; /* of what is mapped */

static pid_t child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(7);
	return pid;
}

static void show(const char *what, const int *at, int n, pid_t pid)
{
	char text[100] = "";
	int len = 0;

	for (int i = 0; i < n; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %s%x",
				pid && at[i] == pid ? "child " : "",
				pid && at[i] == pid ? 0u : (unsigned)at[i]);
	t_say("  %s:%s", what, text);
}

static void one(const char *what, int type, int id, int bytes, void *usage)
{
	int *info = (int *)(end - bytes);
	pid_t pid = id < 0 ? child() : 0;
	long r;

	memset(end - 256, 0x11, 256);
	r = syscall(SYS_waitid, type, pid ? pid : id, info, WEXITED, usage);
	t_say("%s: %ld %s", what, r, r ? strerrorname_np(errno) : "");
	show("info", info, bytes < 28 ? bytes / 4 : 7, pid);
	if (pid && r)
		t_say("  then: %s", waitpid(pid, NULL, 0) == pid ?
					    "still there" :
					    "gone");
}

static void *all(void *arg)
{
	char *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	CHECK(ro != MAP_FAILED);
	one("whole", P_PID, -1, 128, NULL);
	one("four fields fit", P_PID, -1, 16, NULL);
	one("none fits", P_PID, -1, 0, NULL);
	one("a usage that is read-only", P_PID, -1, 128, ro);
	one("no such type", 4096, 2, 128, NULL);
	one("no such type, three fields fit", 4096, 2, 12, NULL);
	one("no child", P_PID, 1, 128, NULL);
	one("no child, and nothing fits", P_PID, 1, 0, NULL);
	return arg;
}

int main(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	end = p + 4096;
	CHECK(mprotect(end, 4096, PROT_NONE) == 0);
	t_join(t_thread(all, NULL));
	return 0;
}
