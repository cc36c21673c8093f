/*
 * What /proc/TID says of a thread, of one that waits and one that computes:
 * state, name, CPU time, its folder. And of none, which has ended.
 */
#include "t.h"
#include <dirent.h>
#include <fcntl.h>

enum { N = 2 }; /* waits, computes */

static _Atomic pid_t tid[N];
static _Atomic int stop;
static int p[2];

static void *waits(void *arg)
{
	CHECK_0(pthread_setname_np(pthread_self(), "waits"));
	tid[0] = gettid();
	CHECK(t_get(p[0]) == 'x');
	return arg;
}

static void *computes(void *arg)
{
	CHECK_0(pthread_setname_np(pthread_self(), "computes"));
	tid[1] = gettid();
	while (!stop)
		;
	return arg;
}

/* What stands in file @name of thread @id. */
static ssize_t get(pid_t id, const char *name, char text[512])
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", id, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	n = read(fd, text, 511);
	text[n > 0 ? n : 0] = 0;
	t_close(fd);
	return n;
}

static char state(pid_t id)
{
	char text[512], *at;

	CHECK(get(id, "stat", text) > 0);
	at = strrchr(text, ')');
	CHECK(at && at[1] == ' ');
	return at[2];
}

/* Until it is so: natively a thread may be anywhere when it is looked at. */
static void until(pid_t id, char want)
{
	while (state(id) != want)
		sched_yield();
}

static long cpu(pid_t id)
{
	char text[512], *at;
	long user, sys;

	CHECK(get(id, "stat", text) > 0);
	at = strrchr(text, ')');
	CHECK(at && sscanf(at,
			   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
			   "%ld %ld",
			   &user, &sys) == 2);
	return user + sys;
}

static int entries(pid_t id)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d", id);
	d = opendir(path);
	CHECK(d);
	for (struct dirent *e; (e = readdir(d));)
		n += !strcmp(e->d_name, "stat") || !strcmp(e->d_name, "comm");
	closedir(d);
	return n;
}

static void look(void)
{
	static const char *const names[N] = { "waits\n", "computes\n" };
	char text[512];
	long was;

	until(tid[0], 'S');
	until(tid[1], 'R');
	for (int i = 0; i < N; i++) {
		CHECK(get(tid[i], "comm", text) > 0);
		CHECK(strcmp(text, names[i]) == 0);
	}
	was = cpu(tid[1]);
	while (cpu(tid[1]) == was)
		sched_yield();
	t_say("one waits, one computes");
}

static void *of_itself(void *arg)
{
	char text[512];

	CHECK(state(gettid()) == 'R');
	CHECK_0(pthread_setname_np(pthread_self(), "itself"));
	CHECK(get(gettid(), "comm", text) > 0);
	CHECK(strcmp(text, "itself\n") == 0);
	return arg;
}

int main(void)
{
	char text[512];
	pthread_t th[N];

	t_pipe(p);
	th[0] = t_thread(waits, NULL);
	th[1] = t_thread(computes, NULL);
	while (!tid[0] || !tid[1])
		sched_yield();
	look();
	CHECK(entries(tid[0]) == 2 && entries(tid[1]) == 2);
	t_join(t_thread(of_itself, NULL));
	stop = 1;
	t_put(p[1], 'x');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	/* The kernel's threads take a moment to go, after join. */
	for (int i = 0; i < N; i++)
		while (get(tid[i], "stat", text) != -ENOENT)
			sched_yield();
	t_say("both have ended");
	return 0;
}
