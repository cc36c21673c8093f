/*
 * exec from a thread, from main, and failing, while others are blocked: the
 * new image has the process id, standard streams and no leftover descriptor.
 * t-case: thread => exit 11
 * t-case: main => exit 11
 * t-no-stats: the second image has its own counters
 */
#include "t.h"
#include <dirent.h>

static int p[2];

static int second_image(const char *pid)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	CHECK(atoi(pid) == getpid());
	CHECK(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) < 100 &&
		    atoi(e->d_name) != dirfd(d))
			n++;
	t_say("second image, %d descriptors", n);
	return 11;
}

static void *blocked(void *arg)
{
	t_eof(p[0]);
	return arg;
}

static void *execs(void *arg)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	CHECK_ERR(execl("/nonexistent", "x", (char *)NULL), ENOENT);
	t_join(t_thread(t_nothing, NULL));
	execl("/proc/self/exe", arg, "second", pid, (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return second_image(argv[2]);
	CHECK(argc == 2);
	/* Nothing but the standard streams goes on. */
	CHECK(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
	CHECK(pipe2(p, O_CLOEXEC) == 0);
	for (int i = 0; i < 10; i++)
		t_thread(blocked, NULL);
	t_settle();
	if (argv[1][0] == 't')
		t_thread(execs, argv[0]);
	else
		execs(argv[0]);
	t_eof(p[0]);
	return 1;
}
