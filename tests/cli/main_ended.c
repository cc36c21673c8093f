/* Main has ended, and with it the first kernel thread: another one waits in read(). */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static int ends[2];

static void *waits(void *arg)
{
	char b;

	/* It has a kernel thread to itself from then on. */
	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && read(ends[0], &b, 1) < 0)
		_exit(1);
	return arg;
}

int main(void)
{
	pthread_t th;

	if (pipe(ends) || pthread_create(&th, NULL, waits, NULL))
		return 1;
	pthread_exit(NULL);
}
