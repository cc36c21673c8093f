/*
 * A handler runs while a thread waits for a word. A PI lock is tried again whatever
 * its flags; a word of memory that is shared, with a limit, ends with EINTR even under
 * SA_RESTART; many words, and words without a limit, go on under it. What interrupts
 * the kernel's wait alone, a change of affinity, does not make a limit longer.
 *
 * t-case: lock
 * t-case: lock_limit
 * t-case: lock_word
 * t-case: sem_limit
 * t-case: shared_limit
 * t-case: shared
 * t-case: many_limit
 * t-case: affinity
 */
#include "../calls.h"
#include "futex.h"

static pthread_mutex_t mu;
static uint32_t *word, own[2];
static sem_t *sem;
static atomic_int ran;

static void on_usr1(int sig)
{
	(void)sig;
	atomic_fetch_add(&ran, 1);
}

static long locks(void *arg)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 30 * T_SEC);
	int r = arg ? pthread_mutex_timedlock(&mu, &ts) :
		      pthread_mutex_lock(&mu);

	return r ? -r : -pthread_mutex_unlock(&mu);
}

static long locks_word(void *arg)
{
	(void)arg;
	return syscall(SYS_futex, &own[0], FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG,
		       0, NULL, NULL, 0);
}

static long waits_sem(void *arg)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 30 * T_SEC);

	(void)arg;
	return sem_timedwait(sem, &ts);
}

static long waits(void *arg)
{
	return syscall(SYS_futex, word, FUTEX_WAIT, 0, arg, NULL, 0);
}

static long waits_many(void *arg)
{
	struct timespec ts = t_in(CLOCK_MONOTONIC, 30 * T_SEC);
	struct futex_waitv v[2] = {
		{ 0, (uintptr_t)&own[0], FUTEX_32 | FUTEX_PRIVATE_FLAG, 0 },
		{ 0, (uintptr_t)&own[1], FUTEX_32 | FUTEX_PRIVATE_FLAG, 0 },
	};

	(void)arg;
	return syscall(SYS_futex_waitv, v, 2, 0, &ts, CLOCK_MONOTONIC);
}

static void interrupt(struct t_call *c)
{
	int n = atomic_load(&ran);

	CHECK_0(pthread_kill(c->th, SIGUSR1));
	while (atomic_load(&ran) == n && !atomic_load(&c->ended))
		t_settle();
}

/* Until a handler has ended the call: one may come before it waits. */
static void end_by_signal(struct t_call *c)
{
	while (!atomic_load(&c->ended))
		interrupt(c);
}

static void locked(void *limit)
{
	pthread_mutexattr_t a;
	struct t_call c;

	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
	CHECK_0(pthread_mutex_init(&mu, &a));
	CHECK_0(pthread_mutex_lock(&mu));
	t_begin(&c, locks, limit);
	for (int i = 0; i < 5; i++) {
		interrupt(&c);
		t_waits(&c);
	}
	CHECK_0(pthread_mutex_unlock(&mu));
	t_ended("lock and unlock", &c);
}

static void locked_word(void)
{
	struct t_call c;

	own[0] = (uint32_t)syscall(SYS_gettid);
	t_begin(&c, locks_word, NULL);
	interrupt(&c);
	t_waits(&c);
	CHECK(!syscall(SYS_futex, &own[0], FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG,
		       0, NULL, NULL, 0));
	t_ended("lock the word", &c);
}

static void set_affinity(void)
{
	struct timespec ts = { 1, 0 };
	long long begun = t_now();
	struct t_call c;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	t_begin(&c, waits, &ts);
	while (t_now() < begun + 700 * T_MS)
		t_settle();
	CHECK_0(pthread_setaffinity_np(c.th, sizeof(set), &set));
	t_ended("affinity", &c);
	T_TOOK(begun, T_SEC);
}

int main(int argc, char **argv)
{
	struct timespec ts = { 30, 0 };
	struct t_call c;
	const char *how;

	CHECK(argc == 2);
	how = argv[1];
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(word != MAP_FAILED);
	sem = (sem_t *)(word + 16);
	CHECK(!sem_init(sem, 1, 0));
	t_handle(SIGUSR1, on_usr1, strncmp(how, "lock", 4) ? SA_RESTART : 0);
	t_be_threaded();
	if (!strcmp(how, "lock") || !strcmp(how, "lock_limit")) {
		locked(how[4] ? &mu : NULL);
	} else if (!strcmp(how, "lock_word")) {
		locked_word();
	} else if (!strcmp(how, "sem_limit")) {
		t_begin(&c, waits_sem, NULL);
		end_by_signal(&c);
		t_ended(how, &c);
	} else if (!strcmp(how, "shared_limit")) {
		t_begin(&c, waits, &ts);
		end_by_signal(&c);
		t_ended(how, &c);
	} else if (!strcmp(how, "shared")) {
		t_begin(&c, waits, NULL);
		interrupt(&c);
		t_waits(&c);
		f_wake_n(word, 1, 0);
		t_ended(how, &c);
	} else if (!strcmp(how, "affinity")) {
		set_affinity();
	} else {
		CHECK(!strcmp(how, "many_limit"));
		t_begin(&c, waits_many, NULL);
		interrupt(&c);
		t_waits(&c);
		f_wake_n(&own[1], 1, FUTEX_PRIVATE_FLAG);
		t_ended(how, &c);
	}
	return 0;
}
