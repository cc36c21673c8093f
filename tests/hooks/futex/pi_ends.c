/*
 * PI mutexes whose owners end, or wait for each other: the kernel hands on what
 * is waited for, whether the mutex is robust or not, and ends a wait that would
 * be for itself. glibc makes an abort of the former, unless the mutex is robust.
 *
 * t-case: owner
 * t-case: moved
 * t-case: forked
 * t-case: two
 * t-case: three
 * t-case: mutex => signal ABRT
 * t-case: tried
 * t-case: tried shared
 */
#include "t.h"
#include "futex.h"

#define PRIV FUTEX_PRIVATE_FLAG

enum { N = 3 };

static uint32_t word[N], cond;
static pthread_barrier_t all;
static pthread_mutex_t mu;

static long take(uint32_t *w)
{
	return futex(w, FUTEX_LOCK_PI | PRIV, 0, NULL, NULL, 0);
}

static void give(uint32_t *w)
{
	CHECK(futex(w, FUTEX_UNLOCK_PI | PRIV, 0, NULL, NULL, 0) == 0);
}

static void until_waited_for(uint32_t *w)
{
	while (!(__atomic_load_n(w, __ATOMIC_SEQ_CST) & FUTEX_WAITERS))
		sched_yield();
	t_settle();
}

/* --- an owner that ends -------------------------------------------------- */

static void *ends(void *arg)
{
	CHECK(take(&word[0]) == 0);
	CHECK(take(&word[1]) == 0);
	pthread_barrier_wait(&all);
	until_waited_for(&word[0]);
	return arg;
}

static void check_mine(void)
{
	uint32_t now = __atomic_load_n(&word[0], __ATOMIC_SEQ_CST);

	CHECK((now & FUTEX_TID_MASK) == (uint32_t)gettid());
	CHECK(now & FUTEX_OWNER_DIED);
	give(&word[0]);
	/* Nobody has waited for this one. */
	CHECK_ERR(take(&word[1]), ESRCH);
}

static void *inherits(void *arg)
{
	pthread_barrier_wait(&all);
	CHECK(take(&word[0]) == 0);
	check_mine();
	return arg;
}

static void owner(void)
{
	pthread_t a, b;

	pthread_barrier_init(&all, NULL, 2);
	a = t_thread(ends, NULL);
	b = t_thread(inherits, NULL);
	t_join(a);
	t_join(b);
	CHECK(take(&word[0]) == 0);
	give(&word[0]);
	t_say("handed on");
}

/* In a child none of those waits who did in the parent, and their stacks are gone. */
enum { WAITERS = 16 };

static void *waits(void *arg)
{
	CHECK(take(&word[2]) == 0);
	give(&word[2]);
	return arg;
}

static void forked(void)
{
	pthread_t th[WAITERS];
	pid_t pid;

	CHECK(take(&word[2]) == 0);
	for (int i = 0; i < WAITERS; i++) {
		th[i] = t_thread(waits, NULL);
		until_waited_for(&word[2]);
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_be_threaded();
		owner();
		_exit(0);
	}
	t_wait_ok(pid);
	give(&word[2]);
	for (int i = 0; i < WAITERS; i++)
		t_join(th[i]);
}

/* It has waited for a condition, and was moved. */
static void *is_moved(void *arg)
{
	CHECK(futex(&cond, FUTEX_WAIT_REQUEUE_PI | PRIV, 0, NULL, &word[0],
		    0) == 0);
	check_mine();
	return arg;
}

static void *moves(void *arg)
{
	long r;

	CHECK(take(&word[0]) == 0);
	CHECK(take(&word[1]) == 0);
	do {
		r = futex(&cond, FUTEX_CMP_REQUEUE_PI | PRIV, 1, (void *)0,
			  &word[0], 0);
		CHECK(r >= 0);
		sched_yield();
	} while (r == 0);
	return arg;
}

static void moved(void)
{
	pthread_t b = t_thread(is_moved, NULL);

	t_join(t_thread(moves, NULL));
	t_join(b);
	t_say("handed on");
}

/* --- a cycle ------------------------------------------------------------- */

static int cycle, deadlocks;

/*
 * Who finds out gives its own back, and so the others get theirs in turn. The kernel walks the
 * cycle step by step, and two who come at once may both find out.
 */
static void *waits_for_next(void *arg)
{
	int i = (int)(intptr_t)arg;
	uint32_t *next = &word[(i + 1) % cycle];

	CHECK(take(&word[i]) == 0);
	pthread_barrier_wait(&all);
	if (take(next) == 0) {
		give(next);
	} else {
		CHECK(errno == EDEADLK);
		__atomic_add_fetch(&deadlocks, 1, __ATOMIC_SEQ_CST);
	}
	give(&word[i]);
	return arg;
}

static void in_cycle(int n)
{
	pthread_t th[N];

	cycle = n;
	pthread_barrier_init(&all, NULL, (unsigned)n);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < n; i++)
			th[i] = t_thread(waits_for_next, (void *)(intptr_t)i);
		for (int i = 0; i < n; i++)
			t_join(th[i]);
		CHECK(deadlocks > 0);
		deadlocks = 0;
	}
	t_say("somebody in each cycle of %d", n);
}

/* --- glibc's ------------------------------------------------------------- */

static void *holds(void *arg)
{
	CHECK_0(pthread_mutex_lock(&mu));
	pthread_barrier_wait(&all);
	until_waited_for((uint32_t *)&mu.__data.__lock);
	return arg;
}

static void init(int robust, int shared)
{
	pthread_mutexattr_t a;

	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
	CHECK_0(pthread_mutexattr_setrobust(&a, robust));
	CHECK_0(pthread_mutexattr_setpshared(&a, shared));
	CHECK_0(pthread_mutex_init(&mu, &a));
	pthread_barrier_init(&all, NULL, 2);
}

static void mutex(void)
{
	pthread_t th;

	init(PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	th = t_thread(holds, NULL);
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&mu);
	t_join(th);
}

static void *dies(void *arg)
{
	CHECK_0(pthread_mutex_lock(&mu));
	return arg;
}

/* glibc 2.36 notes what it gets so as a robust mutex that is no PI one. */
static void *tries(void *arg)
{
	CHECK(pthread_mutex_trylock(&mu) == EOWNERDEAD);
	pthread_barrier_wait(&all);
	until_waited_for((uint32_t *)&mu.__data.__lock);
	return arg;
}

static void tried(int shared)
{
	pthread_t th;

	init(PTHREAD_MUTEX_ROBUST, shared);
	t_join(t_thread(dies, NULL));
	th = t_thread(tries, NULL);
	pthread_barrier_wait(&all);
	CHECK(pthread_mutex_lock(&mu) == EOWNERDEAD);
	CHECK_0(pthread_mutex_consistent(&mu));
	CHECK_0(pthread_mutex_unlock(&mu));
	t_join(th);
	CHECK(mu.__data.__lock == 0);
	t_say("handed on");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "owner"))
		owner();
	else if (!strcmp(name, "moved"))
		moved();
	else if (!strcmp(name, "forked"))
		forked();
	else if (!strcmp(name, "two"))
		in_cycle(2);
	else if (!strcmp(name, "three"))
		in_cycle(3);
	else if (!strcmp(name, "tried"))
		tried(argc > 2 ? PTHREAD_PROCESS_SHARED :
				 PTHREAD_PROCESS_PRIVATE);
	else
		mutex();
	return 0;
}
