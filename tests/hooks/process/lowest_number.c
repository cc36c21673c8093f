/*
 * The lowest free number is the program's, at any moment: a thread opens and
 * closes, and gets the same number each time, while another one waits in the
 * kernel again and again for longer than the library looks on, and names are set.
 *
 * t-case: blocked
 * t-case: names
 */
#include "t.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>

#define ROUNDS 40

static int queue;
static _Atomic int rounds;

/* It parks, and goes on on whatever worker is free. */
static void pause_for(double ms)
{
	struct timespec ts = { 0, (long)(ms * T_MS) };

	while (nanosleep(&ts, &ts))
		;
}

static void *receives(void *arg)
{
	struct {
		long type;
		char text[8];
	} m;

	for (int i = 0; i < ROUNDS; i++) {
		while (msgrcv(queue, &m, sizeof(m.text), 0, 0) < 0)
			CHECK(errno == EINTR);
		rounds++;
		pause_for(1);
	}
	return arg;
}

/* natively too a name of another thread's goes through a file: one's own does not */
static void *renames(void *arg)
{
	for (int i = 0; i < 5000; i++) {
		CHECK(prctl(PR_SET_NAME, i & 1 ? "odd" : "even") == 0);
		if (i % 10 == 0)
			pause_for(0.01);
	}
	rounds = ROUNDS;
	return arg;
}

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * T_SEC + ts.tv_nsec;
}

static int open_one(void)
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(fd >= 0);
	return fd;
}

/* A thread that is not the first opens and closes; @sends: a message each 25 ms. */
static void *opens(void *sends)
{
	struct {
		long type;
		char text[8];
	} m = { 1, "" };
	int first = open_one(), other = 0;
	long long next = now_ns();

	close(first);
	while (rounds < ROUNDS) {
		int fd = open_one();

		other += fd != first;
		close(fd);
		if (sends && now_ns() > next) {
			CHECK(msgsnd(queue, &m, sizeof(m.text), IPC_NOWAIT) ==
				      0 ||
			      errno == EAGAIN);
			next = now_ns() + 25 * T_MS;
		}
	}
	t_say("another number: %d times", other);
	return NULL;
}

int main(int argc, char **argv)
{
	int blocked = argc > 1 && !strcmp(argv[1], "blocked");
	pthread_t t, u;

	queue = msgget(IPC_PRIVATE, 0600);
	if (queue < 0)
		t_skip("no message queues");
	t = t_thread(opens, blocked ? &queue : NULL);
	if (blocked) {
		u = t_thread(receives, NULL);
		t_join(u);
	} else {
		renames(NULL);
	}
	t_join(t);
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	return 0;
}
