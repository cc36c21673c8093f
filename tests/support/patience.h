/*
 * How long a test waits for what must come. What counts is the time in which
 * the waiter was run: machines are stopped for many seconds at times, together
 * with all that it waits for, and no clock tells. So each turn of the waiting
 * loop counts as a hundredth of a second at most.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct patience {
	uint64_t last, spent; /* ns */
};

/** Once per turn, at @now, ns: has it waited for ten seconds? */
static inline bool patience_ends(struct patience *p, uint64_t now)
{
	uint64_t turn = p->last ? now - p->last : 0;

	p->last = now;
	p->spent += turn < 10000000 ? turn : 10000000;
	return p->spent >= 10000000000u;
}

/** Print where each kernel thread of this process is: name, state, syscall. */
static inline void patience_tell(void)
{
	static const char *const of[] = { "comm", "stat", "syscall" };
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	char text[512];

	while (d && (e = readdir(d))) {
		for (int i = 0; i < 3 && e->d_name[0] != '.'; i++) {
			FILE *f;

			snprintf(text, sizeof(text), "/proc/self/task/%s/%s",
				 e->d_name, of[i]);
			f = fopen(text, "r");
			if (f && fgets(text, sizeof(text), f))
				printf("  %s %s: %s", e->d_name, of[i], text);
			if (f)
				fclose(f);
		}
	}
	if (d)
		closedir(d);
	fflush(stdout);
}

#endif
