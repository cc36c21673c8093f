/*
 * Four threads that take turns at a lock on a file, each with a description of
 * its own, until SIGTERM. Each turn is 50 ms long. Says "ready" after twelve; and
 * ends then, with any argument.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static char path[] = "/tmp/holds.XXXXXX";
static sem_t turns;
static volatile int sink;

static __attribute__((noinline)) void cache_lock(int fd)
{
	if (flock(fd, LOCK_EX))
		exit(1);
	sink++;
}

static void *take_turns(void *arg)
{
	int fd = open(path, O_RDWR);

	if (fd < 0)
		exit(1);
	for (;;) {
		int turn;

		cache_lock(fd);
		usleep(50000); /* the load that is measured */
		turn = sink;
		flock(fd, LOCK_UN);
		sem_post(&turns);
		/* Who asks again at once may have it before who was woken. */
		while (turn == sink)
			usleep(200);
	}
	return arg;
}

int main(int argc, char **argv __attribute__((unused)))
{
	pthread_t t[4];

	sem_init(&turns, 0, 0);
	if (mkstemp(path) < 0)
		return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, take_turns, NULL))
			return 1;
	for (int i = 0; i < 12; i++)
		sem_wait(&turns);
	unlink(path);
	printf("ready\n");
	fflush(stdout);
	if (argc > 1)
		return 0;
	pause();
	return 0;
}
