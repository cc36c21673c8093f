/* A futex word shared with a child process, by mapping alone. */
#include "futex.h"

enum { TURNS = 300 };

struct shared {
	uint32_t word, go, done;
};

static struct shared *s;

static void *wait_go(void *arg)
{
	f_wait_while(&s->go, 0, 0);
	return arg;
}

static void ping(void)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		__atomic_store_n(&s->word, 2 * i + 1, __ATOMIC_RELEASE);
		futex(&s->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		f_wait_while(&s->word, 2 * i + 1, 0);
	}
}

static void pong(void)
{
	for (uint32_t i = 0; i < TURNS; i++) {
		f_wait_while(&s->word, 2 * i, 0);
		__atomic_store_n(&s->word, 2 * i + 2, __ATOMIC_RELEASE);
		futex(&s->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

int main(void)
{
	pthread_t th[5];
	pid_t pid;

	s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	CHECK(s != MAP_FAILED);
	for (int i = 0; i < 5; i++)
		th[i] = t_thread(wait_go, NULL);
	t_settle();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		pong();
		__atomic_store_n(&s->go, 1, __ATOMIC_RELEASE);
		CHECK(futex(&s->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) >= 0);
		_exit(0);
	}
	ping();
	t_wait_ok(pid);
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	t_say("%d turns with a child, 5 threads woken by it", TURNS);
	return 0;
}
