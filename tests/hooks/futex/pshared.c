/*
 * A futex word shared with a child process, by mapping alone; or by one that is to
 * be unmapped, which the kernel refuses.
 *
 * t-case: mmap
 * t-case: shmat
 * t-case: mremap
 * t-case: refused
 */
#include <sys/shm.h>
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

static void *map(int flags)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			flags | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void *attach(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	void *at = shmat(id, NULL, 0);

	CHECK(at != (void *)-1);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	return at;
}

static void *move(void)
{
	void *to = map(MAP_PRIVATE);

	CHECK(mremap(map(MAP_SHARED), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED,
		     to) == to);
	return to;
}

static void *keep(void) /* munmap() fails */
{
	char *at = map(MAP_SHARED);

	CHECK_ERR(munmap(at + 4, 4096), EINVAL);
	CHECK_ERR(munmap(at, 0), EINVAL);
	CHECK_ERR(munmap(at, SIZE_MAX), EINVAL);
	CHECK_ERR(munmap(at, SIZE_MAX / 2), EINVAL);
	return at;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t th[5];
	pid_t pid;

	t_be_threaded();
	s = how[0] == 's' ? attach() :
	    how[0] == 'r' ? keep() :
	    how[1] == 'r' ? move() :
			    map(MAP_SHARED);
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
