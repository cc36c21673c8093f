/*
 * Mutexes that other processes see the owner of. A thread of a child holds one
 * when the child is killed: who waits gets it, and is told. Processes fork
 * threads with the same numbers, and never have the lock together.
 * t-case: killed main
 * t-case: killed thread
 * t-case: killed waiting
 * t-case: contended robust
 * t-case: contended inherit
 * t-case: contended recursive
 * t-case: contended errorcheck
 */
#include "t.h"

enum { TURNS = 100, THREADS = 3, PROCESSES = 3 };

static struct shared {
	pthread_mutex_t mu;
	long counter, inside;
} * s;

static int ready[2];

static void *hold(void *arg)
{
	CHECK_0(pthread_mutex_lock(&s->mu));
	t_put(ready[1], 'x');
	for (;;)
		pause();
	return arg;
}

static void *waiter(void *arg)
{
	int r = pthread_mutex_lock(&s->mu);

	CHECK(r == EOWNERDEAD);
	CHECK_0(pthread_mutex_consistent(&s->mu));
	CHECK_0(pthread_mutex_unlock(&s->mu));
	return arg;
}

static void killed(const char *who)
{
	pid_t pid = fork();
	pthread_t th = 0;
	int waits = !strcmp(who, "waiting");

	CHECK(pid >= 0);
	if (pid == 0) {
		t_be_threaded();
		if (!strcmp(who, "main"))
			hold(NULL);
		t_thread(hold, NULL);
		for (;;)
			pause();
	}
	t_get(ready[0]);
	CHECK_ERR((errno = pthread_mutex_trylock(&s->mu)) ? -1 : 0, EBUSY);
	if (waits) {
		th = t_thread(waiter, NULL);
		t_settle();
	}
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(WIFSIGNALED(t_wait(pid)));
	if (!waits)
		th = t_thread(waiter, NULL);
	t_join(th);
	CHECK_0(pthread_mutex_lock(&s->mu));
	CHECK_0(pthread_mutex_unlock(&s->mu));
}

static void *count(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_mutex_lock(&s->mu));
		CHECK(++s->inside == 1);
		if (i % 16 == 0)
			sched_yield();
		s->counter++;
		CHECK(--s->inside == 0);
		CHECK_0(pthread_mutex_unlock(&s->mu));
	}
	return arg;
}

static void contended(void)
{
	pthread_t th[THREADS];
	pid_t pid[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (pid[i])
			continue;
		for (int k = 0; k < THREADS; k++)
			th[k] = t_thread(count, NULL);
		count(NULL);
		for (int k = 0; k < THREADS; k++)
			t_join(th[k]);
		_exit(0);
	}
	for (int k = 0; k < THREADS; k++)
		th[k] = t_thread(count, NULL);
	for (int k = 0; k < THREADS; k++)
		t_join(th[k]);
	for (int i = 0; i < PROCESSES; i++)
		t_wait_ok(pid[i]);
	t_say("%ld", s->counter);
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t ma;

	CHECK(argc == 3);
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	t_pipe(ready);
	CHECK_0(pthread_mutexattr_init(&ma));
	CHECK_0(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
	if (!strcmp(argv[2], "recursive"))
		CHECK_0(pthread_mutexattr_settype(&ma,
						  PTHREAD_MUTEX_RECURSIVE));
	else if (!strcmp(argv[2], "errorcheck"))
		CHECK_0(pthread_mutexattr_settype(&ma,
						  PTHREAD_MUTEX_ERRORCHECK));
	else if (!strcmp(argv[2], "inherit"))
		CHECK_0(pthread_mutexattr_setprotocol(&ma,
						      PTHREAD_PRIO_INHERIT));
	else
		CHECK_0(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
	CHECK_0(pthread_mutex_init(&s->mu, &ma));
	if (!strcmp(argv[1], "killed"))
		killed(argv[2]);
	else
		contended();
	t_say("%s %s: fine", argv[1], argv[2]);
	return 0;
}
