/*
 * Descriptors are opened and closed by some threads while others wait: no
 * datum goes to a wrong reader, no wake-up is lost with a reused number. By one
 * thread alone, so that others have nothing to do but look: what is closed is closed
 * at once.
 *
 * t-case: several
 * t-case: alone
 */
#include "t.h"

enum { THREADS = 8, TURNS = 250, TURNS_ALONE = 2500 };

static int threads = THREADS, turns = TURNS;

static void *ping(void *arg)
{
	int fd = *(int *)arg;
	char c;
	ssize_t n;

	while ((n = read(fd, &c, 1)) == 1)
		t_put(fd, (char)(c ^ 0x55));
	CHECK(n == 0);
	t_close(fd);
	return NULL;
}

static void *storm(void *arg)
{
	int id = (int)(intptr_t)arg;

	for (int i = 0; i < turns; i++) {
		int sv[2];
		char c = (char)(i * 31 + id);
		pthread_t th;

		if (threads > 1 && (i + id) % 3 == 0)
			t_tcp_pair(sv);
		else
			t_pair(sv);
		th = t_thread(ping, &sv[0]);
		for (int k = 0; k < 3; k++) {
			t_put(sv[1], c);
			CHECK(t_get(sv[1]) == (char)(c ^ 0x55));
		}
		t_close(sv[1]);
		t_join(th);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t th[THREADS], quiet;
	int keep[2];

	CHECK(argc == 2);
	if (!strcmp(argv[1], "alone")) {
		threads = 1;
		turns = TURNS_ALONE;
	}
	t_pair(keep);
	quiet = t_thread(ping, &keep[0]);
	for (int i = 0; i < threads; i++)
		th[i] = t_thread(storm, (void *)(intptr_t)i);
	for (int i = 0; i < threads; i++)
		t_join(th[i]);
	t_put(keep[1], 'a');
	CHECK(t_get(keep[1]) == ('a' ^ 0x55));
	t_close(keep[1]);
	t_join(quiet);
	t_say("%d threads, %d turns", threads, turns);
	return 0;
}
