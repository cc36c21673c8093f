/* A program with a thread that tells who it runs as. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL))
		return 1;
	pthread_join(t, NULL);
	printf("real %d, effective %d, secure %lu\n", (int)getuid(),
	       (int)geteuid(), getauxval(AT_SECURE));
	return 0;
}
