/* Threads that fork, threads that talk, threads that allocate: together. */
#include "t.h"

enum { FORKERS = 3, TALKERS = 4, TURNS = 25 };

static volatile int stop;

static void *forks(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			char *b = malloc(5000);

			CHECK(b);
			memset(b, 1, 5000);
			free(b);
			_exit(0);
		}
		t_wait_ok(pid);
	}
	return arg;
}

static void *talks(void *arg)
{
	int sv[2], n = 0;

	t_pair(sv);
	while (!stop) {
		char *b = malloc(100 + (size_t)n % 5000);

		CHECK(b);
		t_put(sv[0], (char)n);
		CHECK(t_get(sv[1]) == (char)n++);
		free(b);
	}
	t_close(sv[0]);
	t_close(sv[1]);
	return arg;
}

int main(void)
{
	pthread_t f[FORKERS], t[TALKERS];

	for (int i = 0; i < TALKERS; i++)
		t[i] = t_thread(talks, NULL);
	for (int i = 0; i < FORKERS; i++)
		f[i] = t_thread(forks, NULL);
	for (int i = 0; i < FORKERS; i++)
		t_join(f[i]);
	stop = 1;
	for (int i = 0; i < TALKERS; i++)
		t_join(t[i]);
	t_say("%d forks", FORKERS * TURNS);
	return 0;
}
