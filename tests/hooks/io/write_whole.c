/*
 * What runs no handler does not make a blocking write short: a cancel while
 * cancels are disabled, a change of the thread's affinity, a signal that is
 * blocked, ignored, or for another thread.
 * t-case: pipe cancel
 * t-case: pipe affinity
 * t-case: pipe signals
 * t-case: socket cancel
 * t-case: socket affinity
 * t-case: socket signals
 */
#include "t.h"
#include <semaphore.h>

enum { SIZE = 4 << 20, PIECE = 64 << 10, STREAM = 3 };

static int fd[2];
static unsigned char *data;
static sem_t ready;

static void *writer(void *arg)
{
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK(sem_post(&ready) == 0);
	CHECK(write(fd[1], data, SIZE) == SIZE);
	CHECK(close(fd[1]) == 0);
	return arg;
}

static void disturb(pthread_t th, char how)
{
	cpu_set_t one;

	if (how == 'c') {
		CHECK_0(pthread_cancel(th));
	} else if (how == 'a') {
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		CHECK_0(pthread_setaffinity_np(th, sizeof(one), &one));
	} else {
		CHECK_0(pthread_kill(th, SIGUSR1));
		CHECK_0(pthread_kill(th, SIGCHLD));
		CHECK_0(pthread_kill(th, SIGUSR2));
		CHECK(kill(getpid(), SIGWINCH) == 0);
	}
}

int main(int argc, char **argv)
{
	static unsigned char piece[PIECE];
	size_t got = 0;
	sigset_t set;
	pthread_t th;

	CHECK(argc == 3);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL)); /* inherited */
	CHECK(sem_init(&ready, 0, 0) == 0);
	CHECK((data = malloc(SIZE)));
	t_fill(STREAM, 0, data, SIZE);
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	if (argv[1][0] == 'p')
		t_pipe(fd);
	else
		t_pair(fd);
	th = t_thread(writer, NULL);
	CHECK(sem_wait(&ready) == 0);
	for (;;) {
		ssize_t r;

		t_settle();
		if (got < SIZE)
			disturb(th, argv[2][0]);
		r = read(fd[0], piece, sizeof(piece));
		CHECK(r >= 0);
		if (r == 0)
			break;
		t_same(STREAM, got, piece, (size_t)r);
		got += (size_t)r;
	}
	t_join(th);
	t_say("%zu bytes", got);
	return 0;
}
