/* The size of a new thread's stack, as libc tells it. usage: stack_of [SIZE] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *show(void *arg)
{
	pthread_attr_t attr;
	size_t size = 0;

	if (pthread_getattr_np(pthread_self(), &attr) == 0)
		pthread_attr_getstacksize(&attr, &size);
	printf("%zu KB\n", size >> 10);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (argc > 1)
		pthread_attr_setstacksize(&attr, strtoul(argv[1], NULL, 10));
	if (pthread_create(&t, argc > 1 ? &attr : NULL, show, NULL))
		return 1;
	return pthread_join(t, NULL);
}
