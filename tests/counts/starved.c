/*
 * Many threads that wait for one lock of the kernel's, of the process's memory (mmap_lock),
 * whose holders are off the processor, since other processes have it: count.py.
 */
#include "t.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { OTHERS = 4, PAIRS = 200, TURNS = 15000, SIZE = 65536 };

static atomic_int over, turns;
static sem_t enough;

static void map_some(void)
{
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	memset(p, 1, SIZE);
	CHECK_0(munmap(p, SIZE));
}

static void *talks(void *arg)
{
	int *end = arg;
	char c = 0;

	while (!atomic_load(&over) && write(end[1], &c, 1) == 1 &&
	       read(end[0], &c, 1) == 1) {
		map_some();
		if (atomic_fetch_add(&turns, 1) == TURNS)
			sem_post(&enough);
	}
	close(end[1]);
	return NULL;
}

int main(void)
{
	static int ends[2 * PAIRS][2];
	pthread_t th[2 * PAIRS];
	pid_t other[OTHERS];

	for (int i = 0; i < OTHERS; i++) {
		other[i] = fork();
		if (other[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
		CHECK(other[i] > 0);
	}
	for (int i = 0; i < 2 * PAIRS; i += 2) {
		int a[2], b[2];

		CHECK_0(pipe(a));
		CHECK_0(pipe(b));
		ends[i][0] = a[0], ends[i][1] = b[1];
		ends[i + 1][0] = b[0], ends[i + 1][1] = a[1];
	}
	CHECK_0(sem_init(&enough, 0, 0));
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	for (int i = 0; i < 2 * PAIRS; i++)
		th[i] = t_thread(talks, ends[i]);
	t_down(&enough);
	atomic_store(&over, 1);
	for (int i = 0; i < 2 * PAIRS; i++)
		t_join(th[i]);
	for (int i = 0; i < OTHERS; i++) {
		CHECK_0(kill(other[i], SIGKILL));
		CHECK(waitpid(other[i], NULL, 0) == other[i]);
	}
	return 0;
}
