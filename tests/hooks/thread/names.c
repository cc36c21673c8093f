/* Thread names: one's own, another's, main's, a child's; thread ids differ. */
#include "t.h"
#include <sys/prctl.h>

enum { N = 6 };

static pid_t tid[N];
static int p[2];

/* A child is called as the thread that has made it. */
static void check_child(const char *want)
{
	char name[17] = "";
	pid_t pid = fork();
	int fd;

	CHECK(pid >= 0);
	if (pid) {
		CHECK(t_wait(pid) == 0);
		return;
	}
	CHECK(prctl(PR_GET_NAME, name) == 0);
	CHECK(strcmp(name, want) == 0);
	fd = open("/proc/self/comm", O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, name, sizeof(name)) == (ssize_t)strlen(want) + 1);
	CHECK(memcmp(name, want, strlen(want)) == 0);
	_exit(0);
}

static void *work(void *arg)
{
	int i = (int)(intptr_t)arg;
	char name[16];

	tid[i] = gettid();
	CHECK(tid[i] == syscall(SYS_gettid));
	CHECK(tid[i] != getpid());
	CHECK_0(pthread_getname_np(pthread_self(), name, sizeof(name)));
	CHECK(strcmp(name, "names") == 0);
	snprintf(name, sizeof(name), "worker %d", i);
	CHECK_0(pthread_setname_np(pthread_self(), name));
	CHECK(t_get(p[0]) == 'x');
	CHECK(tid[i] == gettid());
	memset(name, 0, sizeof(name));
	CHECK(prctl(PR_GET_NAME, name) == 0);
	CHECK(name[0] == 'r');
	if (i == 0)
		check_child(name);
	return NULL;
}

int main(void)
{
	pthread_t th[N];
	char name[16];

	CHECK(gettid() == getpid());
	t_pipe(p);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++) {
		char want[16];

		snprintf(want, sizeof(want), "worker %d", i);
		do
			CHECK_0(pthread_getname_np(th[i], name, sizeof(name)));
		while (strcmp(name, want) != 0 && sched_yield() == 0);
		snprintf(want, sizeof(want), "renamed %d", i);
		CHECK_0(pthread_setname_np(th[i], want));
	}
	CHECK_RC(pthread_setname_np(th[0], "far too long a name"), ERANGE);
	/* The length of the name makes no difference. */
	CHECK_RC(pthread_getname_np(th[0], name, 15), ERANGE);
	CHECK_RC(pthread_getname_np(pthread_self(), name, 15), ERANGE);
	for (int i = 0; i < N; i++)
		t_put(p[1], 'x');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < i; k++)
			CHECK(tid[i] != tid[k]);
	CHECK_0(pthread_getname_np(pthread_self(), name, sizeof(name)));
	t_say("main is %s, %d threads named", name, N);
	CHECK_0(pthread_setname_np(pthread_self(), "other"));
	check_child("other");
	CHECK(gettid() == getpid());
	return 0;
}
