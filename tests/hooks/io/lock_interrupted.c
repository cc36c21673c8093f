/*
 * Three stand in line for a lock, on one processor, and a handler interrupts the first.
 * It has the processor when it asks anew, so it stays the first, unless somebody else takes
 * the processor just then: natively that is another process's doing, and does not count.
 * Where the handler ends the call, the next one is the first.
 */
#include "../calls.h"
#include <sched.h>
#include <sys/file.h>

enum { ROUNDS = 12, MOST = 10, N = 3 };

static atomic_int handled, served;

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

/* Which one it was. */
static long locks(void *arg)
{
	int fd = *(int *)arg;
	long r;

	if (flock(fd, LOCK_EX))
		return -1;
	r = served++;
	CHECK_0(flock(fd, LOCK_UN));
	return r;
}

/* Were they served in their order? */
static int meet(int holder, const char *path, int restarts)
{
	struct t_call c[N];
	int fd[N], in_order = 1;

	served = handled = 0;
	CHECK_0(flock(holder, LOCK_EX));
	for (int i = 0; i < N; i++) {
		fd[i] = open(path, O_RDWR);
		CHECK(fd[i] >= 0);
		t_begin(&c[i], locks, &fd[i]);
	}
	CHECK_0(pthread_kill(c[0].th, SIGUSR1));
	do
		t_pause();
	while (!handled);
	CHECK_0(flock(holder, LOCK_UN));
	for (int i = 0; i < N; i++) {
		long r = t_end(&c[i]);

		if (i == 0 && !restarts)
			CHECK(r == -EINTR);
		else
			in_order &= r == i - !restarts;
		t_close(fd[i]);
	}
	return in_order;
}

/* The program anew, with one processor from its start on. */
static void begin_anew(char *name)
{
	cpu_set_t one = t_one_cpu();

	CHECK_0(sched_setaffinity(0, sizeof(one), &one));
	execv("/proc/self/exe", (char *[]){ name, "pinned", NULL });
	CHECK(!"exec");
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	int holder;

	if (argc == 1)
		begin_anew(argv[0]);
	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	holder = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(holder >= 0);
	for (int restarts = 0; restarts < 2; restarts++) {
		int n = 0;

		t_handle(SIGUSR1, on_usr1, restarts ? SA_RESTART : 0);
		for (int i = 0; i < ROUNDS; i++)
			n += meet(holder, path, restarts);
		t_say("%s: %s", restarts ? "restarted" : "ended",
		      n >= MOST || !getenv("T_HOOKED") ? "in order" :
							 "out of order");
	}
	return 0;
}
