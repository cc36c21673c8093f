/*
 * One thread in each state that fibhook dump can tell, until SIGTERM: each
 * waits in a function named after its state.
 *
 *	states [churn|hidden|blocked|segv|abort]
 *
 * churn: threads come and go besides. hidden: nobody may look inside.
 * blocked: one more waits in a call that has no other form. segv, abort: one
 * more crashes.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static int pipes[2];
static volatile int sink;

/* Keeps the call before it from being the last: a frame of its own. */
#define DONE() (sink++)

static NOINLINE void state_read(void)
{
	char c;

	if (read(pipes[0], &c, 1) < 0)
		perror("read");
	DONE();
}

static NOINLINE void state_stdio(void)
{
	FILE *f = fdopen(dup(pipes[0]), "r");
	char line[16];

	if (!fgets(line, sizeof(line), f))
		perror("fgets");
	DONE();
}

static NOINLINE void state_futex(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&never, &lock);
	DONE();
}

/* By another description of the file than the one that has the lock. */
static NOINLINE void state_flock(void)
{
	FILE *f = tmpfile();
	char path[64];
	int fd;

	if (!f || flock(fileno(f), LOCK_EX))
		perror("flock");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f));
	fd = open(path, O_RDWR);
	sem_post(&ready);
	flock(fd, LOCK_EX);
	DONE();
}

static NOINLINE void state_timer(void)
{
	sleep(1000);
	DONE();
}

static NOINLINE void state_poll(void)
{
	struct pollfd p[3] = { { .fd = pipes[0], .events = POLLIN },
			       { .fd = pipes[0], .events = POLLIN },
			       { .fd = pipes[0], .events = POLLIN } };

	poll(p, 3, 1000000);
	DONE();
}

static NOINLINE void state_signal(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	DONE();
}

static NOINLINE void state_running(void)
{
	for (;;)
		sink++;
}

static NOINLINE int compare(const void *a, const void *b)
{
	state_timer();
	return *(const int *)a - *(const int *)b;
}

/* libc on the stack, between the program and itself. */
static NOINLINE void state_callback(void)
{
	int numbers[2] = { 1, 2 };

	qsort(numbers, 2, sizeof(int), compare);
	DONE();
}

static bool aborts;
static int *volatile nowhere;

static NOINLINE void crashes(void)
{
	if (aborts)
		abort();
	*nowhere = 1;
	DONE();
}

static void *start(void *arg)
{
	void (*fn)(void) = (void (*)(void))arg;

	sem_post(&ready);
	fn();
	return NULL;
}

static void *ends_at_once(void *arg)
{
	usleep(100);
	return arg;
}

static void churn(void)
{
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, ends_at_once, NULL) == 0)
			pthread_join(t, NULL);
	}
}

int main(int argc, char **argv)
{
	static void (*const states[])(void) = {
		state_read, state_stdio,  state_futex,	  state_timer,
		state_poll, state_signal, state_callback, state_running,
	};
	const int n = sizeof(states) / sizeof(*states);
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	sem_init(&ready, 0, 0);
	if (pipe(pipes))
		return 1;
	for (int i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, start, (void *)states[i]))
			return 1;
		pthread_detach(t);
	}
	for (int i = 0; i < n; i++)
		sem_wait(&ready);
	if (argc > 1 && !strcmp(argv[1], "blocked")) {
		pthread_t t;

		if (pthread_create(&t, NULL, start, (void *)state_flock))
			return 1;
		sem_wait(&ready);
		sem_wait(&ready);
	}
	usleep(100000);
	prctl(PR_SET_NAME, "states main");
	aborts = argc > 1 && !strcmp(argv[1], "abort");
	if (aborts || (argc > 1 && !strcmp(argv[1], "segv"))) {
		pthread_t t;

		if (pthread_create(&t, NULL, start, (void *)crashes))
			return 1;
		pthread_join(t, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	printf("ready\n");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "churn"))
		churn();
	pause();
	return 0;
}
