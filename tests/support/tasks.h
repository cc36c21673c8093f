/*
 * The kernel threads of a process, as /proc has them, and for how long they were to
 * run while others had the processor: a busy machine.
 */
#ifndef T_TASKS_H
#define T_TASKS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the old getdents fills in. */
struct t_dirent {
	unsigned long ino, off;
	unsigned short len;
	char name[];
};

/**
 * What @of makes of @file in the folder of each kernel thread of @process, "self" or
 * its number, in all. A hooked program that lists its own threads by readdir() is
 * shown fibers, but what libc does not call is not hooked.
 */
static inline long long t_of_tasks(const char *process, const char *file,
				   long long (*of)(FILE *, const char *),
				   const char *arg)
{
	char list[2048] __attribute__((aligned(8))), path[128];
	long long sum = 0;
	long n, at;
	int dir;

	snprintf(path, sizeof(path), "/proc/%s/task", process);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 &&
	       (n = syscall(SYS_getdents, dir, list, sizeof(list))) > 0) {
		for (at = 0; at < n;) {
			struct t_dirent *e = (struct t_dirent *)(list + at);
			FILE *f;

			at += e->len;
			snprintf(path, sizeof(path), "/proc/%s/task/%d/%s",
				 process, atoi(e->name), file);
			f = e->name[0] == '.' ? NULL : fopen(path, "r");
			if (f) {
				sum += of(f, arg);
				fclose(f);
			}
		}
	}
	if (dir >= 0)
		close(dir);
	return sum;
}

static inline long long t_waited_in(FILE *f, const char *unused)
{
	long long ns;

	(void)unused;
	return fscanf(f, "%*s %lld", &ns) == 1 ? ns : 0;
}

/** Of a process, "self" or its number, so far; ns. */
static inline long long t_held_up(const char *process)
{
	return t_of_tasks(process, "schedstat", t_waited_in, NULL);
}

#endif
