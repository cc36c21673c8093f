/*
 * With the first thread all text is looked at for calls. What the program had not touched
 * of it is not its memory for that: of a library it has about as much as before.
 * t-no-stats
 */
#include "t.h"
#include <dlfcn.h>
#include <stdbool.h>

#define SLACK_KB 160 /* its frame table, 50 to 100, with what lies about it */

static void *nothing(void *arg)
{
	return arg;
}

/* What is resident of the file that @of is in, kB. */
static long resident(const char *of)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool counts = false;
	char line[512];
	long kb, sum = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (strchr(line, '-') && strchr(line, '/'))
			counts = strstr(line, of);
		else if (strchr(line, '-') && !strstr(line, "kB"))
			counts = false;
		if (counts && sscanf(line, "Rss: %ld kB", &kb) == 1)
			sum += kb;
	}
	CHECK(fclose(f) == 0);
	return sum;
}

int main(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);
	long before, after;

	CHECK(lib);
	before = resident("/libm");
	t_join(t_thread(nothing, NULL));
	after = resident("/libm");
	CHECK(before > 0);
	if (after > before + SLACK_KB)
		fprintf(stderr, "%ld kB before, %ld kB after\n", before, after);
	t_say("about as much: %s", after <= before + SLACK_KB ? "yes" : "no");
	return 0;
}
