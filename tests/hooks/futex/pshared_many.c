/*
 * Many threads wait for words that other processes see: who wakes counts them,
 * they come in their order, by their bits, and move from word to word; a time
 * limit, a signal and a cancel end a wait, and none of them takes a wake-up along.
 * Some wait for a word of their own all the while, so that it is many.
 *
 * t-case: queue
 * t-case: ends
 * t-case: race
 * t-case: processes
 * t-case: filter
 * t-case: restricted
 * t-case: exec
 */
#include "many.h"

struct shared {
	uint32_t idle, word, other, turn, stop;
};

static struct shared *s;
static int served[N], nserved, ended;
static pthread_t idlers[BYSTANDERS];

static void *idler(void *arg)
{
	f_wait_while(&s->idle, 0, 0);
	return arg;
}

static void begin_idlers(void)
{
	for (int i = 0; i < BYSTANDERS; i++)
		idlers[i] = t_thread(idler, NULL);
	await(&s->idle, BYSTANDERS);
}

static void end_idlers(void)
{
	__atomic_store_n(&s->idle, 1, __ATOMIC_SEQ_CST);
	CHECK(futex(&s->idle, FUTEX_WAKE, INT_MAX, NULL, NULL, 0) ==
		      BYSTANDERS ||
	      chaos());
	for (int i = 0; i < BYSTANDERS; i++)
		t_join(idlers[i]);
}

static void *waiter(void *arg)
{
	CHECK(futex(&s->word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0);
	/* order() wakes the next one when this is counted. */
	served[__atomic_load_n(&nserved, __ATOMIC_SEQ_CST)] = (int)(long)arg;
	__atomic_fetch_add(&nserved, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void begin(pthread_t *th, int n, void *(*fn)(void *))
{
	for (long i = 0; i < n; i++) {
		th[i] = t_thread(fn, (void *)i);
		await(&s->word, (int)i + 1);
	}
}

/* As many as there are. */
static void wakes(uint32_t *word, int n, int all, uint32_t bitset)
{
	long r;

	do
		r = futex(word, FUTEX_WAKE_BITSET, (uint32_t)all, NULL, NULL,
			  bitset);
	while ((n -= (int)r) > 0 && chaos());
	CHECK(n == 0);
}

static void wake_all(uint32_t *word, int n)
{
	wakes(word, n, INT_MAX, ~0u);
}

static void order(pthread_t *th)
{
	begin(th, N, waiter);
	for (int i = 0; i < N; i++) {
		wakes(&s->word, 1, 1, ~0u);
		while (__atomic_load_n(&nserved, __ATOMIC_SEQ_CST) <= i)
			sched_yield();
		CHECK(served[i] == i || chaos());
	}
	join(th, N);
	t_say("first come, first served");
}

static void count(pthread_t *th)
{
	begin(th, N, waiter);
	wakes(&s->word, 5, 5, ~0u);
	await(&s->word, N - 5);
	CHECK(futex(&s->word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 &&
	      errno == EAGAIN);
	wake_all(&s->word, N - 5);
	CHECK(wake(&s->word, INT_MAX) == 0);
	join(th, N);
	t_say("%d served", nserved);
}

static void *waiter_bit(void *arg)
{
	CHECK(futex(&s->word, FUTEX_WAIT_BITSET, 0, NULL, NULL,
		    1u << (long)arg) == 0);
	__atomic_fetch_add(&nserved, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void bits(pthread_t *th)
{
	begin(th, N, waiter_bit);
	CHECK_ERR(futex(&s->word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0), EINVAL);
	for (int i = N; i--;) {
		wakes(&s->word, 1, INT_MAX, 1u << i);
		t_join(th[i]);
		CHECK(nserved == N - i);
	}
	t_say("%d served", nserved);
}

static void move(pthread_t *th)
{
	long moved, n = 0;

	begin(th, N, waiter);
	moved = futex(&s->word, FUTEX_CMP_REQUEUE, 2, (void *)10l, &s->other,
		      0);
	CHECK(moved == 12 || chaos());
	while (chaos() && n < N - 2)
		n += wake(&s->other, INT_MAX) + wake(&s->word, INT_MAX);
	if (!chaos()) {
		CHECK(waiters(&s->word) == N - 12 && waiters(&s->other) == 10);
		wake_all(&s->other, 10);
		wake_all(&s->word, N - 12);
	}
	join(th, N);
	t_say("%d served", nserved);
}

static void *limited(void *arg)
{
	struct timespec in = t_ts(20 * T_MS);
	struct timespec at = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	struct timespec real = t_in(CLOCK_REALTIME, 20 * T_MS);
	struct timespec odd = { 0, T_SEC };
	long long start = t_now();

	CHECK_ERR(futex(&s->word, FUTEX_WAIT, 0, &odd, NULL, 0), EINVAL);
	CHECK_ERR(futex(&s->word, FUTEX_WAIT, 0, &in, NULL, 0), ETIMEDOUT);
	CHECK(t_now() - start >= 20 * T_MS);
	CHECK_ERR(futex(&s->word, FUTEX_WAIT_BITSET, 0, &at, NULL, ~0u),
		  ETIMEDOUT);
	CHECK_ERR(futex(&s->word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0,
			&real, NULL, ~0u),
		  ETIMEDOUT);
	return arg;
}

static void limit(pthread_t *th)
{
	for (int i = 0; i < N; i++)
		th[i] = t_thread(limited, NULL);
	join(th, N);
	await(&s->word, 0);
	t_say("timed out");
}

static void noted(int sig)
{
	(void)sig;
	__atomic_fetch_add(&nserved, 1, __ATOMIC_SEQ_CST);
}

static void *interrupted(void *arg)
{
	long r = futex(&s->word, FUTEX_WAIT, 0, NULL, NULL, 0);

	CHECK(r == 0 || errno == EINTR || (chaos() && errno == EAGAIN));
	if (r)
		__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void interrupt(pthread_t *th, int flags)
{
	t_handle(SIGUSR1, noted, flags);
	begin(th, N, interrupted);
	for (int i = 0; i < N; i += 2)
		CHECK(pthread_kill(th[i], SIGUSR1) == 0);
	while (__atomic_load_n(&nserved, __ATOMIC_SEQ_CST) < N / 2)
		sched_yield();
	/* By chaos a signal may come before the wait, which is not ended then. */
	if (chaos()) {
		__atomic_store_n(&s->word, 1, __ATOMIC_SEQ_CST);
		wake(&s->word, INT_MAX);
	} else {
		await(&s->word, flags & SA_RESTART ? N : N / 2);
		wake_all(&s->word, flags & SA_RESTART ? N : N / 2);
	}
	join(th, N);
	if (!chaos())
		CHECK(ended == (flags & SA_RESTART ? 0 : N / 2));
	t_say("interrupted");
}

static void signal_ends(pthread_t *th)
{
	interrupt(th, 0);
}

static void restart(pthread_t *th)
{
	interrupt(th, SA_RESTART);
}

static void *cancelled(void *arg)
{
	CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
	return waiter(arg);
}

static void cancel(pthread_t *th)
{
	begin(th, N, cancelled);
	for (int i = 0; i < N; i += 2) {
		t_cancel(th[i]);
		CHECK(t_join(th[i]) == PTHREAD_CANCELED);
	}
	await(&s->word, N / 2);
	wake_all(&s->word, N / 2);
	for (int i = 1; i < N; i += 2)
		t_join(th[i]);
	t_say("%d served", nserved);
}

/* Woken, interrupted, timed out, all at once: as many return 0 as were woken. */
static void *racer(void *arg)
{
	while (!__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
		struct timespec ts = t_ts(((long)arg % 8) * 30000 + 1);
		long r = futex(&s->word, FUTEX_WAIT, 0,
			       (long)arg % 3 ? &ts : NULL, NULL, 0);

		CHECK(r == 0 || errno == EINTR || errno == ETIMEDOUT ||
		      (errno == EAGAIN && s->word));
		if (r == 0)
			__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void race(pthread_t *th)
{
	long woken = 0;

	t_handle(SIGUSR1, noted, 0);
	for (long i = 0; i < N; i++)
		th[i] = t_thread(racer, (void *)i);
	for (int i = 0; i < ROUNDS; i++) {
		woken += wake(&s->word, i % 5);
		CHECK(pthread_kill(th[i % N], SIGUSR1) == 0);
		woken += wake(&s->word, i % 3);
		if (i % 4 == 0)
			sched_yield();
	}
	__atomic_store_n(&s->stop, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->word, 1, __ATOMIC_SEQ_CST);
	woken += wake(&s->word, INT_MAX);
	join(th, N);
	CHECK(woken == ended);
	t_say("each wake-up was a thread's");
}

/* A round trip for each thread and turn, with those of another process. */
static void *asks(void *arg)
{
	for (uint32_t i = 0; i < 20; i++) {
		__atomic_fetch_add(&s->turn, 1, __ATOMIC_SEQ_CST);
		wake(&s->turn, 1);
		f_wait_while(&s->word, i, 0);
	}
	return arg;
}

static void answer(void)
{
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t now;

		while ((now = __atomic_load_n(&s->turn, __ATOMIC_SEQ_CST)) < N)
			futex(&s->turn, FUTEX_WAIT, now, NULL, NULL, 0);
		__atomic_store_n(&s->turn, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->word, i + 1, __ATOMIC_SEQ_CST);
		wake(&s->word, INT_MAX);
	}
}

static void process(pthread_t *th)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		answer();
		_exit(0);
	}
	for (int i = 0; i < N; i++)
		th[i] = t_thread(asks, NULL);
	join(th, N);
	t_wait_ok(pid);
	t_say("20 turns");
}

/* Those of a child have their own, beside its parent's in one queue. */
static void forks(pthread_t *th)
{
	pid_t pid;

	begin(th, N, waiter);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		pthread_t own[N];

		for (int i = 0; i < N; i++) {
			own[i] = t_thread(waiter, NULL);
			await(&s->word, N + i + 1);
		}
		wakes(&s->word, N, N, ~0u);
		__atomic_store_n(&s->stop, 1, __ATOMIC_SEQ_CST);
		join(own, N);
		_exit(0);
	}
	/* By chaos some of those that it has woken may be its own. */
	while (chaos() && !__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST))
		sched_yield();
	if (!chaos())
		join(th, N);
	wake_all(&s->word, N);
	if (chaos())
		join(th, N);
	t_wait_ok(pid);
	t_say("%d served", nserved);
}

static void changes_identity(pthread_t *th)
{
	begin(th, N, waiter);
	for (int i = 0; i < 20; i++)
		CHECK(setuid(getuid()) == 0);
	/* libc's signal for that ends each wait, which begins anew. */
	await(&s->word, N);
	await(&s->idle, BYSTANDERS);
	wake_all(&s->word, N);
	join(th, N);
	t_say("%d served", nserved);
}

/* What comes for all threads, and kills for what the library alone needs. */
static void filter(pthread_t *th)
{
	pthread_t later[N];

	begin(th, N, waiter);
	forbid_uring();
	await(&s->word, N);
	wakes(&s->word, 5, 5, ~0u);
	await(&s->word, N - 5);
	wake_all(&s->word, N - 5);
	join(th, N);
	nserved = 0;
	begin(later, N, waiter);
	wake_all(&s->word, N);
	join(later, N);
	t_say("%d served", nserved);
}

static int turn[2];

static void *restricted(void *arg)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { T_LEN(f), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0);
	if (arg)
		t_get(turn[0]);
	return arg;
}

/* All threads restrict themselves, one by one, when many have waited. */
static void restrict_all(pthread_t *th)
{
	pthread_t one;

	t_pipe(turn);
	begin(th, N, waiter);
	wake_all(&s->word, N);
	join(th, N);
	end_idlers();
	one = t_thread(restricted, &one);
	restricted(NULL);
	t_put(turn[1], 'x');
	t_join(one);
	nserved = 0;
	__atomic_store_n(&s->idle, 0, __ATOMIC_SEQ_CST);
	begin_idlers();
	begin(th, N, waiter);
	wake_all(&s->word, N);
	join(th, N);
	t_say("%d served", nserved);
}

static void execs(pthread_t *th)
{
	begin(th, N, waiter);
	execl("/proc/self/exe", "pshared_many", "queue", NULL);
	CHECK(!"exec");
}

static void map(void)
{
	s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	CHECK(s != MAP_FAILED);
}

/* Who is restricted writes no counters: a child is. */
static void child_restricts(pthread_t *th)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		map();
		begin_idlers();
		restrict_all(th);
		end_idlers();
		_exit(0);
	}
	t_wait_ok(pid);
}

static const struct {
	const char *name;
	void (*run[4])(pthread_t *th);
} cases[] = {
	{ "queue", { order, count, bits, move } },
	{ "ends", { limit, signal_ends, restart, cancel } },
	{ "race", { race } },
	{ "processes", { process, forks, changes_identity } },
	{ "filter", { filter } },
	{ "restricted", { child_restricts } },
	{ "exec", { execs } },
};

static void run(void (*const *fn)(pthread_t *th))
{
	pthread_t th[N];

	for (int i = 0; i < 4 && fn[i]; i++) {
		__atomic_store_n(&s->word, 0, __ATOMIC_SEQ_CST);
		nserved = ended = 0;
		fn[i](th);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	map();
	begin_idlers();
	for (size_t i = 0; i < T_LEN(cases); i++)
		if (strcmp(cases[i].name, argv[1]) == 0)
			run(cases[i].run);
	end_idlers();
	return 0;
}
