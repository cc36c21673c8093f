/*
 * Two threads wait for events of one inotify descriptor. The first one takes what comes,
 * and the second one, which looks after it, holds up nobody meanwhile.
 */
#include "../calls.h"
#include <sys/inotify.h>

#define ROUNDS 20
#define LATE   8 /* ms, of a sleep of one */

static long reads(void *arg)
{
	char buf[512];

	return read(*(int *)arg, buf, sizeof(buf));
}

static int64_t slept_ms(void)
{
	struct timespec ts = { 0, T_MS }, a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	nanosleep(&ts, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / T_MS;
}

int main(void)
{
	int f, late = 0;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	f = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(f >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		int in = inotify_init1(0);
		struct t_call c[2];

		CHECK(in >= 0 && inotify_add_watch(in, path, IN_MODIFY) >= 0);
		t_begin(&c[0], reads, &in);
		t_begin(&c[1], reads, &in);
		t_put(f, 'x');
		late += slept_ms() >= LATE;
		/* Two like it that nobody has read are one. */
		while (!atomic_load(&c[0].ended) && !atomic_load(&c[1].ended))
			t_settle();
		t_put(f, 'x');
		for (int k = 0; k < 2; k++)
			CHECK(t_end(&c[k]) == sizeof(struct inotify_event));
		t_close(in);
	}
	t_say("%s", late < ROUNDS / 2 ? "in time" : "late");
	return 0;
}
