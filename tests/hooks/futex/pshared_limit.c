/*
 * Many threads wait for words that other processes see, with a time limit by the
 * clock that may be set: its end, a wake-up, a signal and a cancel end a wait, and
 * none of them takes a wake-up along; the limit goes with a wait that is moved. Some
 * wait for a word of their own all the while, so that it is many.
 *
 * t-case: mistakes
 * t-case: ends
 * t-case: signals
 * t-case: cancel
 * t-case: process
 * t-case: libc
 * t-case: at_once
 * t-case: filter
 * t-case: futex_wait
 */
#include "many.h"
#include <semaphore.h>

static struct shared {
	uint32_t idle, word, other, go;
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
} * s;

static int nserved, ended, handled;
static struct timespec hour;

static long wait_until(uint32_t *word, uint32_t val, struct timespec *at,
		       uint32_t bitset)
{
	return futex(word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, val, at,
		     NULL, bitset);
}

static void wake_all(uint32_t *word, int n)
{
	do
		n -= (int)wake(word, INT_MAX);
	while (n > 0 && chaos());
	CHECK(n == 0);
}

static void begin(pthread_t *th, int n, void *(*fn)(void *))
{
	for (long i = 0; i < n; i++)
		th[i] = t_thread(fn, (void *)i);
}

static void count(int *of)
{
	__atomic_fetch_add(of, 1, __ATOMIC_SEQ_CST);
}

static void *idler(void *arg)
{
	f_wait_while(&s->idle, 0, 0);
	return arg;
}

static void *waiter(void *arg)
{
	struct timespec at = hour;

	CHECK(wait_until(&s->word, 0, &at, ~0u) == 0);
	count(&nserved);
	return arg;
}

/* --- what is wrong with a call ------------------------------------------------- */

static void *mistaken(void *arg)
{
	struct timespec odd = { 1, T_SEC }, before = { -1, 0 }, past = { 1, 0 };
	struct timespec *nowhere = (void *)16;

	CHECK_ERR(wait_until(&s->word, 0, &odd, ~0u), EINVAL);
	CHECK_ERR(wait_until(&s->word, 0, &before, ~0u), EINVAL);
	CHECK_ERR(wait_until(&s->word, 1, &odd, ~0u), EINVAL);
	CHECK_ERR(wait_until(&s->word, 0, nowhere, ~0u), EFAULT);
	CHECK_ERR(wait_until(&s->word, 0, &hour, 0), EINVAL);
	CHECK_ERR(wait_until((void *)((char *)&s->word + 1), 0, &hour, ~0u),
		  EINVAL);
	CHECK_ERR(wait_until(&s->word, 1, &past, ~0u), EAGAIN);
	CHECK_ERR(wait_until(&s->word, 1, &hour, ~0u), EAGAIN);
	CHECK_ERR(wait_until(&s->word, 0, &past, ~0u), ETIMEDOUT);
	CHECK_ERR(futex(&s->word, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 0, &past,
			NULL, 0),
		  ENOSYS);
	return arg;
}

static void mistakes(pthread_t *th)
{
	begin(th, N, mistaken);
	join(th, N);
	await(&s->word, 0);
	t_say("refused");
}

/* --- the limit, or who wakes --------------------------------------------------- */

/* Not before it, by the clock that it is of. */
static void *limited(void *arg)
{
	struct timespec at = t_in(CLOCK_REALTIME, ((long)arg % 4) * 10 * T_MS);

	CHECK_ERR(wait_until(&s->word, 0, &at, ~0u), ETIMEDOUT);
	CHECK(t_now_on(CLOCK_REALTIME) >= at.tv_sec * T_SEC + at.tv_nsec);
	return arg;
}

static void *waiter_bit(void *arg)
{
	struct timespec at = hour;

	CHECK(wait_until(&s->word, 0, &at, 1u << (long)arg) == 0);
	count(&nserved);
	return arg;
}

static void *moved(void *arg)
{
	struct timespec at = t_in(CLOCK_REALTIME, 300 * T_MS);

	CHECK_ERR(wait_until(&s->word, 0, &at, ~0u), ETIMEDOUT);
	return arg;
}

static void ends(pthread_t *th)
{
	begin(th, N, limited);
	join(th, N);
	await(&s->word, 0);
	begin(th, N, waiter_bit);
	await(&s->word, N);
	for (int i = N; i--;) {
		while (futex(&s->word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
			     1u << i) != 1)
			CHECK(chaos());
		t_join(th[i]);
		CHECK(nserved == N - i);
	}
	begin(th, N, waiter);
	await(&s->word, N);
	wake_all(&s->word, N);
	join(th, N);
	begin(th, N, moved);
	t_settle();
	CHECK(futex(&s->word, FUTEX_CMP_REQUEUE, 0, (void *)(long)INT_MAX,
		    &s->other, 0) >= 0);
	join(th, N);
	await(&s->word, 0);
	await(&s->other, 0);
	t_say("%d served", nserved);
}

static void noted(int sig)
{
	(void)sig;
	count(&handled);
}

static void *interrupted(void *arg)
{
	struct timespec at = hour;
	long r = wait_until(&s->word, 0, &at, ~0u);

	CHECK(r == 0 || errno == EINTR || (chaos() && errno == EAGAIN));
	count(r ? &ended : &nserved);
	return arg;
}

/* A handler ends a wait with a limit, whatever its flags. */
static void interrupt(pthread_t *th, int flags)
{
	nserved = ended = handled = 0;
	__atomic_store_n(&s->word, 0, __ATOMIC_SEQ_CST);
	t_handle(SIGUSR1, noted, flags);
	begin(th, N, interrupted);
	await(&s->word, N);
	for (int i = 0; i < N; i += 2)
		CHECK(pthread_kill(th[i], SIGUSR1) == 0);
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < N / 2)
		sched_yield();
	if (chaos()) {
		__atomic_store_n(&s->word, 1, __ATOMIC_SEQ_CST);
		wake(&s->word, INT_MAX);
	} else {
		await(&s->word, N / 2);
		wake_all(&s->word, N / 2);
	}
	join(th, N);
	CHECK(chaos() || (ended == N / 2 && nserved == N / 2));
	t_say("interrupted");
}

/* One that is ignored, or has come to another thread, ends none. */
static void signals(pthread_t *th)
{
	interrupt(th, 0);
	interrupt(th, SA_RESTART);
	nserved = 0;
	__atomic_store_n(&s->word, 0, __ATOMIC_SEQ_CST);
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	begin(th, N, waiter);
	await(&s->word, N);
	for (int i = 0; i < N; i++)
		CHECK(pthread_kill(th[i], SIGUSR1) == 0);
	await(&s->word, N);
	wake_all(&s->word, N);
	join(th, N);
	t_say("%d served", nserved);
}

static void *waits_sem(void *arg)
{
	struct timespec at = hour;

	CHECK(sem_timedwait(&s->sem, &at) == 0);
	count(&nserved);
	return arg;
}

static void cancel(pthread_t *th)
{
	CHECK(sem_init(&s->sem, 1, 0) == 0);
	begin(th, N, waits_sem);
	t_settle();
	for (int i = 0; i < N; i += 2) {
		t_cancel(th[i]);
		CHECK(t_join(th[i]) == PTHREAD_CANCELED);
	}
	for (int i = 1; i < N; i += 2)
		CHECK(sem_post(&s->sem) == 0);
	for (int i = 1; i < N; i += 2)
		t_join(th[i]);
	t_say("%d served", nserved);
}

/* --- other processes ----------------------------------------------------------- */

/* A child's threads wait beside its parent's, and it wakes them all. */
static void process(pthread_t *th)
{
	pid_t pid;

	begin(th, N, waiter);
	await(&s->word, N);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		pthread_t own[N];

		begin(own, N, waiter);
		await(&s->word, 2 * N);
		wake_all(&s->word, 2 * N);
		join(own, N);
		begin(own, N, limited);
		join(own, N);
		_exit(nserved != N);
	}
	join(th, N);
	t_wait_ok(pid);
	t_say("%d served", nserved);
}

/* --- libc's locks ---------------------------------------------------------------- */

static void *locks(void *arg)
{
	struct timespec soon = t_in(CLOCK_REALTIME, 10 * T_MS);
	struct timespec at = hour;

	CHECK_ERR(sem_timedwait(&s->sem, &soon), ETIMEDOUT);
	CHECK_RC(pthread_mutex_timedlock(&s->mutex, &soon), ETIMEDOUT);
	CHECK_RC(pthread_rwlock_timedrdlock(&s->rwlock, &soon), ETIMEDOUT);
	CHECK_RC(pthread_rwlock_timedwrlock(&s->rwlock, &soon), ETIMEDOUT);
	count(&ended);
	CHECK(sem_timedwait(&s->sem, &at) == 0);
	CHECK_0(pthread_mutex_timedlock(&s->mutex, &at));
	soon = t_in(CLOCK_REALTIME, T_MS);
	CHECK_RC(pthread_cond_timedwait(&s->cond, &s->mutex, &soon), ETIMEDOUT);
	count(&ended);
	while (!s->go)
		CHECK_0(pthread_cond_timedwait(&s->cond, &s->mutex, &at));
	CHECK_0(pthread_mutex_unlock(&s->mutex));
	if ((long)arg % 2)
		CHECK_0(pthread_rwlock_timedwrlock(&s->rwlock, &at));
	else
		CHECK_0(pthread_rwlock_timedrdlock(&s->rwlock, &at));
	count(&nserved);
	CHECK_0(pthread_rwlock_unlock(&s->rwlock));
	return arg;
}

static void make_locks(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;
	pthread_rwlockattr_t r;

	CHECK(sem_init(&s->sem, 1, 0) == 0);
	CHECK_0(pthread_mutexattr_init(&m));
	CHECK_0(pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_mutex_init(&s->mutex, &m));
	CHECK_0(pthread_condattr_init(&c));
	CHECK_0(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_cond_init(&s->cond, &c));
	CHECK_0(pthread_rwlockattr_init(&r));
	CHECK_0(pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED));
	CHECK_0(pthread_rwlock_init(&s->rwlock, &r));
}

static void all_ended(void)
{
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < N)
		t_settle();
	ended = 0;
}

static void libc(pthread_t *th)
{
	make_locks();
	CHECK_0(pthread_mutex_lock(&s->mutex));
	CHECK_0(pthread_rwlock_wrlock(&s->rwlock));
	begin(th, N, locks);
	all_ended();
	for (int i = 0; i < N; i++)
		CHECK(sem_post(&s->sem) == 0);
	CHECK_0(pthread_mutex_unlock(&s->mutex));
	all_ended();
	CHECK_0(pthread_mutex_lock(&s->mutex));
	s->go = 1;
	CHECK_0(pthread_cond_broadcast(&s->cond));
	CHECK_0(pthread_mutex_unlock(&s->mutex));
	t_settle();
	CHECK(nserved == 0);
	CHECK_0(pthread_rwlock_unlock(&s->rwlock));
	join(th, N);
	t_say("%d served", nserved);
}

/* --- all at once ----------------------------------------------------------------- */

static struct timespec soon;
static pthread_barrier_t round_begins;

static void *racer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec at;
		long r;

		pthread_barrier_wait(&round_begins);
		at = soon;
		r = wait_until(&s->word, 0, &at, ~0u);
		CHECK(r == 0 || errno == ETIMEDOUT || errno == EINTR);
		if (r == 0)
			count(&nserved);
		pthread_barrier_wait(&round_begins);
	}
	return arg;
}

/* Who was woken when the limit came is not told of the limit: as many return 0. */
static void at_once(pthread_t *th)
{
	long woken = 0;

	t_handle(SIGUSR1, noted, 0);
	CHECK_0(pthread_barrier_init(&round_begins, NULL, N + 1));
	begin(th, N, racer);
	for (int i = 0; i < ROUNDS; i++) {
		long long at = t_now_on(CLOCK_REALTIME) + T_MS;
		long early = (i % 10) * 20000;

		soon = (struct timespec){ at / T_SEC, at % T_SEC };
		pthread_barrier_wait(&round_begins);
		while (t_now_on(CLOCK_REALTIME) < at - early)
			sched_yield();
		for (int k = 0; k < N; k++) {
			woken += wake(&s->word, 1);
			if (i % 3 == 0 && k % 4 == 0)
				CHECK(pthread_kill(th[k], SIGUSR1) == 0);
		}
		pthread_barrier_wait(&round_begins);
		woken += wake(&s->word, INT_MAX);
		CHECK(woken == __atomic_load_n(&nserved, __ATOMIC_SEQ_CST));
	}
	join(th, N);
	t_say("each wake-up was a thread's");
}

/* --- the call of Linux 6.7 ------------------------------------------------------- */

#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

static long wait2(struct timespec *at)
{
	return syscall(SYS_futex_wait, &s->word, 0, ~0u, 2, at, CLOCK_REALTIME);
}

static void *waiter2(void *arg)
{
	struct timespec soon = t_in(CLOCK_REALTIME, 10 * T_MS), at = hour;

	CHECK_ERR(wait2(&soon), ETIMEDOUT);
	count(&ended);
	CHECK(wait2(&at) == 0);
	count(&nserved);
	return arg;
}

/* With SA_RESTART it goes on, though it has a limit. */
static void waits2(pthread_t *th)
{
	if (wait2((void *)16) == -1 && errno == ENOSYS)
		t_skip("the kernel has no futex_wait");
	t_handle(SIGUSR1, noted, SA_RESTART);
	begin(th, N, waiter2);
	all_ended();
	await(&s->word, N);
	for (int i = 0; i < N; i++)
		CHECK(pthread_kill(th[i], SIGUSR1) == 0);
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < N)
		sched_yield();
	await(&s->word, N);
	wake_all(&s->word, N);
	join(th, N);
	t_say("%d served", nserved);
}

/* What comes for all threads ends io_uring: who waits there begins anew. */
static void filter(pthread_t *th)
{
	begin(th, N, waiter);
	await(&s->word, N);
	forbid_uring();
	await(&s->word, N);
	wake_all(&s->word, N);
	join(th, N);
	begin(th, N, limited);
	join(th, N);
	t_say("%d served", nserved);
}

static const struct {
	const char *name;
	void (*run)(pthread_t *th);
} cases[] = {
	{ "mistakes", mistakes }, { "ends", ends },
	{ "signals", signals },	  { "cancel", cancel },
	{ "process", process },	  { "libc", libc },
	{ "at_once", at_once },	  { "filter", filter },
	{ "futex_wait", waits2 },
};

int main(int argc, char **argv)
{
	pthread_t idlers[BYSTANDERS], th[N];

	CHECK(argc == 2);
	s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	CHECK(s != MAP_FAILED);
	hour = t_in(CLOCK_REALTIME, 3600 * T_SEC);
	begin(idlers, BYSTANDERS, idler);
	await(&s->idle, BYSTANDERS);
	for (size_t i = 0; i < T_LEN(cases); i++)
		if (strcmp(cases[i].name, argv[1]) == 0)
			cases[i].run(th);
	__atomic_store_n(&s->idle, 1, __ATOMIC_SEQ_CST);
	wake(&s->idle, INT_MAX);
	join(idlers, BYSTANDERS);
	return 0;
}
