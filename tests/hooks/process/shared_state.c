/* What threads share: directory, umask, limits, and what they do not. */
#include "t.h"
#include <sys/prctl.h>
#include <sys/resource.h>

static void *change(void *arg)
{
	struct rlimit rl;

	CHECK(chdir("/") == 0);
	CHECK(umask(027) == 022);
	CHECK(getrlimit(RLIMIT_CORE, &rl) == 0);
	rl.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_CORE, &rl) == 0);
	CHECK(setenv("T_SHARED", "yes", 1) == 0);
	return arg;
}

/* After unshare(CLONE_FS) a thread has its own directory. */
static void *own_directory(void *arg)
{
	char b[PATH_MAX];

	if (unshare(CLONE_FS) != 0)
		return arg;
	CHECK(chdir("/tmp") == 0);
	for (int i = 0; i < 10; i++) {
		t_settle();
		CHECK(getcwd(b, sizeof(b)));
		CHECK(strcmp(b, "/tmp") == 0);
	}
	return arg;
}

int main(void)
{
	struct rlimit rl;
	char b[PATH_MAX];
	pthread_t th;

	umask(022);
	t_join(t_thread(change, NULL));
	CHECK(getcwd(b, sizeof(b)));
	CHECK(strcmp(b, "/") == 0);
	CHECK(umask(022) == 027);
	CHECK(getrlimit(RLIMIT_CORE, &rl) == 0);
	CHECK(rl.rlim_cur == 0);
	CHECK(strcmp(getenv("T_SHARED"), "yes") == 0);
	t_say("shared");
	th = t_thread(own_directory, NULL);
	for (int i = 0; i < 10; i++) {
		t_settle();
		CHECK(getcwd(b, sizeof(b)));
		CHECK(strcmp(b, "/") == 0);
	}
	t_join(th);
	t_say("not shared after unshare");
	return 0;
}
