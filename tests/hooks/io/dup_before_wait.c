/*
 * dup2() onto a number that another thread has begun to read from, and does not wait at yet,
 * or just has come to: the read is one of the file before or of the new one, and ends when
 * both have something.
 */
#include "t.h"

enum { ROUNDS = 8000, SPREAD = 997 };

static sem_t go, done;
static int fd;
static int over;

static void *reader(void *arg)
{
	char c;

	(void)arg;
	for (;;) {
		t_down(&go);
		if (over)
			return NULL;
		CHECK(read(fd, &c, 1) == 1);
		CHECK_0(sem_post(&done));
	}
}

int main(void)
{
	pthread_t th;

	t_handle(SIGPIPE, SIG_IGN, 0);
	CHECK_0(sem_init(&go, 0, 0));
	CHECK_0(sem_init(&done, 0, 0));
	th = t_thread(reader, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		int before[2], after[2];

		t_pipe(before);
		t_pipe(after);
		fd = before[0];
		CHECK_0(sem_post(&go));
		/* So that it comes at each place in turn. */
		if (i % 3 == 0)
			sched_yield();
		else
			for (volatile int k = 0; k < i % SPREAD; k++)
				;
		CHECK(dup2(after[0], fd) == fd);
		/* EPIPE, where nobody reads from it any more. */
		CHECK(write(before[1], "x", 1) == 1 || errno == EPIPE);
		t_put(after[1], 'x');
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
