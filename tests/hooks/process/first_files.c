/*
 * Files of /proc/self that the kernel lets nobody but the first thread write or
 * read: main may, wherever it has waited meanwhile, and others may not. What they
 * hold is a thread's own, and its threads inherit it.
 *
 * t-case: loginuid
 * t-case: slack
 */
#include <sys/prctl.h>
#include "round.h"

enum { TURNS = 40 };

static void *turns(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		t_round_turn((long)arg);
	return arg;
}

/* It has waited for others time and again. */
static void wander(void)
{
	pthread_t th[T_ROUND];

	t_round_begin();
	for (long i = 1; i < T_ROUND; i++)
		th[i] = t_thread(turns, (void *)i);
	t_round_starts(1);
	turns(NULL);
	for (long i = 1; i < T_ROUND; i++)
		t_join(th[i]);
}

static long get(const char *path)
{
	char text[32] = { 0 };
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0);
	if (read(fd, text, sizeof(text) - 1) < 0) {
		t_close(fd);
		return -errno;
	}
	t_close(fd);
	return strtol(text, NULL, 10);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	t_close(fd);
	return r;
}

static void *others(void *arg)
{
	CHECK(put(arg, "1001") == -EPERM);
	return NULL;
}

static void *inherits(void *arg)
{
	CHECK(get("/proc/thread-self/loginuid") == (long)arg);
	return NULL;
}

static void loginuid(void)
{
	static char path[64];

	/* It may be set where it has not been. */
	if (access("/proc/self/loginuid", F_OK) != 0 ||
	    get("/proc/self/loginuid") != 4294967295)
		t_skip("no loginuid, or it is set");
	t_join(t_thread(others, "/proc/self/loginuid"));
	CHECK(put("/proc/self/loginuid", "1000") == 0);
	CHECK(get("/proc/self/loginuid") == 1000);
	t_join(t_thread(inherits, (void *)1000));
	snprintf(path, sizeof(path), "/proc/%d/loginuid", (int)getpid());
	t_join(t_thread(others, path));
	t_say("set");
}

/* Who has a right to change that of others may do so by any thread. */
static void slack(void)
{
	if (getuid() == 0)
		CHECK(setresuid(65534, 65534, 65534) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	CHECK(get("/proc/self/timerslack_ns") ==
	      prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
	CHECK(put("/proc/self/timerslack_ns", "70000") == 0);
	CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 70000);
	t_say("set");
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	wander();
	if (!strcmp(argv[1], "loginuid"))
		loginuid();
	else
		slack();
	return 0;
}
