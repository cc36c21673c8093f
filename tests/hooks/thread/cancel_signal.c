/*
 * A cancel ends a write of which a part is done, and that waits for room, at whatever
 * place of the call it comes; also with the signal (SIGCANCEL, which no program may send by
 * pthread_kill) by which glibc from 2.41 on tells of each cancel.
 */
#include "t.h"
#include <sys/syscall.h>

#define TURNS	  40000
#define SPINS	  600 /* before the cancel, at most */
#define SIGCANCEL 32  /* nptl's */

static int ends[2];
static pid_t tid;
static sem_t begins;
static char big[1 << 17];

static void *victim(void *arg)
{
	tid = gettid();
	CHECK(sem_post(&begins) == 0);
	for (;;)
		CHECK(write(ends[1], big, sizeof(big)) > 0);
	return arg;
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t t = t_thread(idle, NULL);

	/* It has libc set its handler. */
	CHECK_0(pthread_cancel(t));
	CHECK(t_join(t) == PTHREAD_CANCELED);
	CHECK(sem_init(&begins, 0, 0) == 0);
	for (int i = 0; i < TURNS; i++) {
		t_pipe(ends);
		t = t_thread(victim, NULL);
		CHECK(sem_wait(&begins) == 0);
		CHECK(syscall(SYS_tgkill, getpid(), tid, SIGCANCEL) == 0);
		for (volatile int n = i % SPINS; n > 0; n--)
			;
		CHECK_0(pthread_cancel(t));
		CHECK(t_join(t) == PTHREAD_CANCELED);
		t_close(ends[0]);
		t_close(ends[1]);
	}
	t_say("%d", TURNS);
	return 0;
}
