/* A pipe of packets, by many duplicates of its number: each read is one, at once. */
#include "t.h"

enum { NUMBERS = 16, PACKETS = 8 };

static int p[2];

static void *by_one(void *arg)
{
	char buf[64];
	int fd = *(int *)arg;

	for (int i = 0; i < PACKETS; i++)
		CHECK(read(fd, buf, sizeof(buf)) == 2);
	return arg;
}

static void one(int fd)
{
	pthread_t th;
	char b;

	/* It has waited before. */
	th = t_thread(by_one, &fd);
	for (int i = 0; i < PACKETS; i++) {
		t_settle();
		t_write(p[1], "ab", 2);
	}
	t_join(th);
	for (int i = 0; i < PACKETS; i++)
		t_write(p[1], "cd", 2);
	t_join(t_thread(by_one, &fd));
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(read(fd, &b, 1), EAGAIN);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
}

int main(void)
{
	long long start;
	int fd[NUMBERS];

	t_be_threaded();
	CHECK(pipe2(p, O_DIRECT) == 0);
	for (int i = 0; i < NUMBERS; i++) {
		fd[i] = i % 2 ? fcntl(p[0], F_DUPFD_CLOEXEC, 50) : dup(p[0]);
		CHECK(fd[i] >= 0);
	}
	start = t_now();
	for (int i = 0; i < NUMBERS; i++)
		one(fd[i]);
	T_TOOK(start, NUMBERS * PACKETS * 3 * T_MS);
	t_say("%d packets", 2 * NUMBERS * PACKETS);
	return 0;
}
