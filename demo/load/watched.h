/* What a server uses: its CPU time, threads and memory, with the option -P. */
#ifndef WATCHED_H
#define WATCHED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static pid_t server; /* 0: none is looked at */

/* Of its includer. */
static void error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct usage {
	long threads, rss_kb, pte_kb;
};

static long field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtol(p + strlen(name), NULL, 10) : 0;
}

static void usage_read(struct usage *u)
{
	char path[64], text[8192];
	size_t len;
	FILE *f;

	memset(u, 0, sizeof(*u));
	if (!server)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)server);
	f = fopen(path, "re");
	if (!f) {
		error("no process %d", (int)server);
		return;
	}
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	u->threads = field(text, "\nThreads:");
	u->rss_kb = field(text, "\nVmRSS:");
	u->pte_kb = field(text, "\nVmPTE:");
}

/* CPU time of the server so far, of all threads that it ever had. */
static uint64_t server_cpu_ns(void)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (!server)
		return 0;
	if (clock_getcpuclockid(server, &clock) != 0 ||
	    clock_gettime(clock, &ts) < 0) {
		error("no CPU clock of process %d", (int)server);
		return 0;
	}
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
