/*
 * Closes standard error, or opens a file of data in its place, and makes a
 * thread: nobody but the program may write into the file.
 *
 *	stderr_data FILE [inherited]	inherited: descriptor 2 was closed
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int fd;

	if (argc < 3)
		close(2);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd != 2 || write(fd, "DATA", 4) != 4)
		return 1;
	if (pthread_create(&t, NULL, nothing, NULL))
		return 2;
	pthread_join(t, NULL);
	return 0;
}
