/*
 * Are the actors' processes at rest? All kernel threads asleep (or stopped) at
 * one moment, seen from outside: then nothing of the program can go on but by
 * what the director does next, or by a time limit. That is the same question
 * natively, where each actor is a kernel thread, and hooked, where a fiber that
 * can run keeps a worker from sleeping.
 *
 * Two looks, in both of which a thread sleeps and between which it has not
 * run (/proc/PID/task/TID/schedstat counts its turns), frame a moment in which it
 * slept; where the last of the first look comes before the first of the
 * second, there is one moment for all. A library may have one thread that only
 * looks after the others now and then, and has them try again what may have come
 * unseen: three that took a few turns are let pass.
 * What such a thread is needed for takes it some turns, so the director asks for
 * a rest of some length (direct.c).
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

#define MAX 256

static struct look {
	int n;
	struct {
		int tid;
		unsigned long turns;
	} of[MAX];
} last;
static int64_t since = -1;

int64_t fz_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool slurp(char *b, size_t n, const char *fmt, int pid, int tid)
{
	char path[64];
	ssize_t r;
	int fd;

	snprintf(path, sizeof(path), fmt, pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	r = read(fd, b, n - 1);
	close(fd);
	b[r > 0 ? r : 0] = 0;
	return r > 0;
}

static char state_of(int pid, int tid)
{
	char b[512], *p;

	if (!slurp(b, sizeof(b), "/proc/%d/task/%d/stat", pid, tid))
		return 0;
	p = strrchr(b, ')');
	return p && p[1] ? p[2] : 0;
}

bool fz_watch_disk;

static bool sleeps(char state)
{
	if (state == 'D')
		return fz_watch_disk;
	return state == 'S' || state == 'T' || state == 't' || state == 'Z' ||
	       state == 'X';
}

/* Adds the threads of @pid: false if one of them runs. */
static bool look_at(struct look *l, pid_t pid)
{
	char path[32], b[128];
	struct dirent *e;
	bool all = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && l->n < MAX) {
		int tid = atoi(e->d_name);
		char state;

		if (!isdigit(e->d_name[0]))
			continue;
		state = state_of(pid, tid);
		all &= !state || sleeps(state);
		if (!slurp(b, sizeof(b), "/proc/%d/task/%d/schedstat", pid, tid))
			continue;
		l->of[l->n].tid = tid;
		l->of[l->n++].turns = strtoul(strrchr(b, ' ') + 1, NULL, 10);
	}
	if (d)
		closedir(d);
	return all;
}

/* Has nobody run but some, and these seldom? */
static bool same(const struct look *a, const struct look *b, int64_t ms)
{
	int others = 0;

	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++) {
		if (a->of[i].tid != b->of[i].tid)
			return false;
		if (a->of[i].turns == b->of[i].turns)
			continue;
		others++;
		if (b->of[i].turns - a->of[i].turns > (unsigned)(ms / 2 + 4))
			return false;
	}
	return others <= 3;
}

void fz_watch_begin(void)
{
	since = -1;
}

long fz_watch_quiet(const struct fz_shared *s, pid_t main)
{
	static struct look now;
	int64_t t = fz_now_ms();
	bool asleep;

	now.n = 0;
	asleep = look_at(&now, main);
	for (int i = FZ_THREADS; i < FZ_ACTORS; i++)
		if (s->slot[i].pid)
			asleep &= look_at(&now, s->slot[i].pid);
	/* Who runs now has run the next time, unless it is that one. */
	if (since < 0 || !same(&last, &now, t - since)) {
		last = now;
		since = asleep ? t : -1;
		return 0;
	}
	return asleep ? (long)(t - since) : 0;
}

bool fz_watch_stopped(pid_t pid)
{
	return state_of(pid, pid) == 'T';
}

void fz_nap(void)
{
	usleep(500);
}
