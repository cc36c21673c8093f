/*
 * Main has ended, and with it the first kernel thread: /proc/self has no descriptors any
 * more. A thread's own folder has the program's, and no others; FIFOs open in either order.
 */
#include "../calls.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static char fifo[64];

static void tell(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0;

	CHECK(d != NULL);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.' && atoi(e->d_name) > 2;
	closedir(d);
	t_say("%s: %d", folder, n);
}

static long opens(void *flags)
{
	int fd = open(fifo, (int)(intptr_t)flags);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static void meet(int first, int second)
{
	struct t_call c[2];

	for (int i = 0; i < 2; i++)
		t_begin(&c[i], opens, (void *)(intptr_t)first);
	t_waits(&c[0]);
	CHECK(opens((void *)(intptr_t)second) == 0);
	t_ended("one", &c[0]);
	t_ended("other", &c[1]);
}

static void *goes_on(void *arg)
{
	/* It has a kernel thread to itself: no other is needed. */
	CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0);
	while (t_threads_in(getpid(), "Z") == 0)
		t_settle();
	tell("/proc/thread-self/fd");
	tell("/proc/thread-self/fdinfo");
	meet(O_RDONLY, O_WRONLY);
	meet(O_WRONLY, O_RDONLY);
	unlink(fifo);
	exit(0);
	return arg;
}

int main(void)
{
	snprintf(fifo, sizeof(fifo), "/tmp/t_main_ended.%d", (int)getpid());
	CHECK(mkfifo(fifo, 0600) == 0);
	t_thread(goes_on, NULL);
	pthread_exit(NULL);
}
