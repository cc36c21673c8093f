/*
 * A process that is dumpable no more may not write to its own files in /proc: its
 * main thread gets a new name all the same, whatever it is on.
 *
 * t-no-stats: it may not create the file
 */
#include <sys/prctl.h>
#include "t.h"

static void *waits(void *arg)
{
	sem_wait(arg);
	return NULL;
}

static void *yields(void *arg)
{
	for (int i = 0; i < 200; i++)
		sched_yield();
	return arg;
}

/* As others see it. */
static void show(void)
{
	char path[40], name[32] = "";
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	CHECK((pid = fork()) >= 0);
	if (pid == 0) {
		int fd = open(path, O_RDONLY);

		(void)!write(1, name, (size_t)read(fd, name, sizeof(name)));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	pthread_t th[8];
	char name[16];
	sem_t sem;

	if (geteuid() == 0)
		CHECK(setuid(65534) == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	CHECK(sem_init(&sem, 0, 0) == 0);
	th[0] = t_thread(waits, &sem);
	for (int i = 1; i < 8; i++)
		th[i] = t_thread(yields, NULL);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "turn %d", i);
		CHECK(prctl(PR_SET_NAME, name) == 0);
		sched_yield();
	}
	show();
	CHECK(sem_post(&sem) == 0);
	for (int i = 0; i < 8; i++)
		t_join(th[i]);
	return 0;
}
