/*
 * A thread's affinity and priority, changed by another thread while it sleeps,
 * reads, waits for a mutex, waits for a signal with all signals blocked, spins,
 * or changes the other one's in turn. What it was doing goes on undisturbed.
 */
#include <sched.h>
#include <sys/resource.h>
#include "tasks.h"
#include "t.h"

static int pipe_fd[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static cpu_set_t one;
static pthread_barrier_t ready;

struct target {
	const char *name;
	void (*wait)(void);
	pthread_t thread;
	pid_t tid;
	int cpus, nice;
};

static void do_sleep(void)
{
	long long held = t_held_up("self"), t0 = t_now(), took;
	struct timespec ts = t_ts(300 * T_MS);

	CHECK(nanosleep(&ts, NULL) == 0);
	took = t_now() - t0;
	CHECK(took >= 300 * T_MS);
	/* Beside one that spins; one that has ended meanwhile is not counted. */
	held = t_held_up("self") - held;
	CHECK(took - (held > 0 ? held : 0) <= (300 + 200) * T_MS);
}

static void do_read(void)
{
	CHECK(t_get(pipe_fd[0]) == 'x');
}

static void do_lock(void)
{
	CHECK_0(pthread_mutex_lock(&mutex));
	CHECK_0(pthread_mutex_unlock(&mutex));
}

static void do_sigwait(void)
{
	sigset_t all, usr;
	int sig;

	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, NULL));
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	CHECK_0(sigwait(&usr, &sig));
	CHECK(sig == SIGUSR1);
}

static void do_spin(void)
{
	while (!stop)
		;
}

static void *run(void *arg)
{
	struct target *t = arg;
	cpu_set_t now;

	t->tid = gettid();
	pthread_barrier_wait(&ready);
	t->wait();
	CHECK_0(sched_getaffinity(0, sizeof(now), &now));
	t->cpus = CPU_COUNT(&now);
	CHECK(CPU_EQUAL(&now, &one));
	t->nice = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

static struct target targets[] = {
	{ "sleep", do_sleep, 0, 0, 0, 0 },
	{ "read", do_read, 0, 0, 0, 0 },
	{ "lock", do_lock, 0, 0, 0, 0 },
	{ "sigwait", do_sigwait, 0, 0, 0, 0 },
	{ "spin", do_spin, 0, 0, 0, 0 },
};

struct pair {
	pthread_t other;
	pthread_barrier_t *both;
};

/* Two that change each other at once, again and again. */
static void *mutual(void *arg)
{
	struct pair *p = arg;

	pthread_barrier_wait(p->both);
	for (int i = 0; i < 20; i++)
		CHECK_0(pthread_setaffinity_np(p->other, sizeof(one), &one));
	pthread_barrier_wait(p->both);
	return NULL;
}

static void try_mutual(void)
{
	pthread_barrier_t both;
	struct pair pair[2];
	pthread_t th[2];

	CHECK_0(pthread_barrier_init(&both, NULL, 3));
	for (int i = 0; i < 2; i++) {
		pair[i].both = &both;
		th[i] = t_thread(mutual, &pair[i]);
	}
	pair[0].other = th[1];
	pair[1].other = th[0];
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	t_join(th[0]);
	t_join(th[1]);
	t_say("mutual");
}

int main(void)
{
	int own = getpriority(PRIO_PROCESS, 0);
	cpu_set_t all, none;
	sigset_t usr;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr, NULL));
	CHECK_0(sched_getaffinity(0, sizeof(all), &all));
	one = t_one_cpu();
	CPU_ZERO(&none);
	t_pipe(pipe_fd);
	CHECK_0(pthread_barrier_init(&ready, NULL, T_LEN(targets) + 1));
	CHECK_0(pthread_mutex_lock(&mutex));
	for (unsigned i = 0; i < T_LEN(targets); i++)
		targets[i].thread = t_thread(run, &targets[i]);
	pthread_barrier_wait(&ready);
	for (unsigned i = 0; i < T_LEN(targets); i++) {
		struct target *t = &targets[i];

		CHECK(pthread_setaffinity_np(t->thread, sizeof(none), &none) ==
		      EINVAL);
		CHECK_0(pthread_setaffinity_np(t->thread, sizeof(one), &one));
		CHECK_0(setpriority(PRIO_PROCESS, (id_t)t->tid, 3));
	}
	CHECK_0(pthread_mutex_unlock(&mutex));
	t_put(pipe_fd[1], 'x');
	CHECK_0(pthread_kill(targets[3].thread, SIGUSR1));
	stop = 1;
	for (unsigned i = 0; i < T_LEN(targets); i++) {
		t_join(targets[i].thread);
		t_say("%s: %d cpu, nice %d", targets[i].name, targets[i].cpus,
		      targets[i].nice);
	}
	CHECK(getpriority(PRIO_PROCESS, 0) == own);
	CHECK_0(sched_getaffinity(0, sizeof(none), &none));
	CHECK(CPU_EQUAL(&all, &none));
	try_mutual();
	return 0;
}
