/* One thread, joined. Leaves the directory that it was started in. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *run(void *arg)
{
	puts("a thread");
	return arg;
}

int main(void)
{
	pthread_t t;

	if (chdir("/") || pthread_create(&t, NULL, run, NULL) ||
	    pthread_join(t, NULL))
		return 1;
	return 0;
}
