/*
 * A signal ends a call in which a cancel is pending that may not act there: in a thread
 * that has disabled cancels, and in a call that is no cancellation point. Not one whose
 * handler has SA_RESTART, where the call is one that is repeated: that one goes on, and
 * gets what it waits for.
 * t-case: eintr
 * t-case: restart
 */
#include "t.h"
#include <sys/file.h>
#include <sys/sem.h>

enum { SEMOP, FLOCK, SEM_WAIT, READ, NANOSLEEP, PAUSE, SIGSUSPEND, KINDS };

static const char *const names[] = { "semop",	  "flock", "sem_wait",	"read",
				     "nanosleep", "pause", "sigsuspend" };

static int kind, set, ends[2], other; /* other: than the lock's */
static char path[] = "/tmp/beside_cancel.XXXXXX";
static FILE *file;     /* its reads are libc's own */
static sem_t sem, ran; /* ran: has the handler? */
static _Atomic int ended;
static int result, error;

static void handler(int sig)
{
	CHECK(sig > 0);
	CHECK(sem_post(&ran) == 0);
}

static int call(void)
{
	struct sembuf down = { 0, -1, 0 };
	struct timespec long_ = { 1000, 0 };
	sigset_t none;

	sigemptyset(&none);
	switch (kind) {
	case SEMOP:
		return semop(set, &down, 1);
	case FLOCK:
		return flock(other, LOCK_EX);
	case SEM_WAIT:
		return sem_wait(&sem);
	case READ:
		clearerr(file);
		return fgetc(file);
	case NANOSLEEP:
		return nanosleep(&long_, NULL);
	case PAUSE:
		return pause();
	default:
		return sigsuspend(&none);
	}
}

static void *waiter(void *arg)
{
	/* sigsuspend alone opens it. */
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	if (kind == SIGSUSPEND)
		CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	/* semop and flock are no cancellation points in any state. */
	if (kind > FLOCK)
		CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	result = call();
	error = errno;
	CHECK_0(pthread_sigmask(SIG_SETMASK, NULL, &usr1));
	CHECK(sigismember(&usr1, SIGUSR1) == (kind == SIGSUSPEND));
	ended = 1;
	return arg;
}

static void satisfy(int lock)
{
	struct sembuf up = { 0, 1, 0 };

	switch (kind) {
	case SEMOP:
		CHECK(semop(set, &up, 1) == 0);
		break;
	case FLOCK:
		CHECK(flock(lock, LOCK_UN) == 0);
		break;
	case SEM_WAIT:
		CHECK(sem_post(&sem) == 0);
		break;
	case READ:
		CHECK(write(ends[1], "x", 1) == 1);
		break;
	}
}

static void one(int repeats, int lock)
{
	pthread_t t;

	ended = 0;
	/* Neither by the waiter: open() and close() are cancellation points. */
	other = open(path, O_RDWR);
	CHECK(other >= 0);
	CHECK(sem_init(&ran, 0, 0) == 0);
	t = t_thread(waiter, NULL);
	t_settle();
	CHECK_0(pthread_cancel(t));
	t_settle();
	CHECK(!ended);
	CHECK_0(pthread_kill(t, SIGUSR1));
	t_down(&ran);
	if (repeats) {
		t_settle();
		CHECK(!ended);
		satisfy(lock);
	}
	/* A signal before the call was no signal in it: another one. */
	for (int i = 1; !repeats && !ended; i++) {
		t_settle();
		if (i % 100 == 0 && !ended)
			CHECK_0(pthread_kill(t, SIGUSR1));
	}
	pthread_join(t, NULL);
	t_close(other);
	t_say("%s %s", names[kind], result >= 0 ? "has it" : strerror(error));
}

int main(int argc, char **argv)
{
	int restart = argc > 1 && !strcmp(argv[1], "restart");
	struct sigaction sa = { .sa_handler = handler,
				.sa_flags = restart ? SA_RESTART : 0 };
	int lock = mkstemp(path);

	CHECK(lock >= 0 && pipe(ends) == 0);
	CHECK(sem_init(&sem, 0, 0) == 0);
	file = fdopen(ends[0], "r");
	set = semget(IPC_PRIVATE, 1, 0600);
	CHECK(file && set >= 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	for (kind = 0; kind < KINDS; kind++) {
		CHECK(flock(lock, LOCK_EX) == 0);
		one(restart && kind >= FLOCK && kind <= READ, lock);
		CHECK(flock(lock, LOCK_UN) == 0);
	}
	semctl(set, 0, IPC_RMID);
	unlink(path);
	return 0;
}
