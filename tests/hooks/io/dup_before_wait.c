/*
 * dup2() onto a number that another thread has begun to read from, and does not wait at yet,
 * or just has come to: the read is one of the file before or of the new one, and ends when
 * both have something. So is a send to one who takes no more.
 *
 * t-case: read
 * t-case: send
 */
#include <stdbool.h>
#include <sys/socket.h>
#include "t.h"

enum { ROUNDS = 8000, SENDS = 300, SPREAD = 997 };

static sem_t go, done;
static int fd;
static int over;
static bool sends;

static void *other(void *arg)
{
	char c;

	(void)arg;
	for (;;) {
		t_down(&go);
		if (over)
			return NULL;
		if (sends)
			CHECK(send(fd, "y", 1, 0) == 1);
		else
			CHECK(read(fd, &c, 1) == 1);
		CHECK_0(sem_post(&done));
	}
}

static void make(int ends[2])
{
	if (!sends) {
		t_pipe(ends);
		return;
	}
	CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	while (send(ends[0], "x", 1, MSG_DONTWAIT) == 1)
		;
	CHECK(errno == EAGAIN);
}

/* Whoever waits at it, or is about to, waits no more. */
static void serve(int end)
{
	char c;

	if (sends)
		while (recv(end, &c, 1, MSG_DONTWAIT) == 1)
			;
	else /* EPIPE, where nobody reads from it any more */
		CHECK(write(end, "x", 1) == 1 || errno == EPIPE);
}

int main(int argc, char **argv)
{
	pthread_t th;

	sends = argc > 1 && !strcmp(argv[1], "send");
	t_handle(SIGPIPE, SIG_IGN, 0);
	CHECK_0(sem_init(&go, 0, 0));
	CHECK_0(sem_init(&done, 0, 0));
	th = t_thread(other, NULL);
	for (int i = 0; i < (sends ? SENDS : ROUNDS); i++) {
		int before[2], after[2];

		make(before);
		make(after);
		fd = before[0];
		CHECK_0(sem_post(&go));
		/* So that it comes at each place in turn. */
		if (i % 3 == 0)
			sched_yield();
		else
			for (volatile int k = 0; k < i % SPREAD; k++)
				;
		CHECK(dup2(after[0], fd) == fd);
		serve(before[1]);
		serve(after[1]);
		t_down(&done);
		for (int k = 0; k < 2; k++) {
			t_close(before[k]);
			t_close(after[k]);
		}
	}
	over = 1;
	CHECK_0(sem_post(&go));
	t_join(th);
	t_say("all have ended");
	return 0;
}
