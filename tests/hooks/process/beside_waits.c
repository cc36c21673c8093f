/*
 * Main makes a process, or changes what is its kernel thread's, while other threads
 * wait in the kernel for good: for semaphores of System V, for AIO's events. (They
 * have SIGCHLD blocked: where main blocks it, as in system(), it would end their waits,
 * though it is ignored.)
 *
 * t-case: semop fork
 * t-case: semop popen
 * t-case: semop system
 * t-case: semop nice
 * t-case: semop affinity
 * t-case: semtimedop fork
 * t-case: semtimedop nice
 * t-case: msgrcv fork
 * t-case: io_getevents fork
 * t-case: io_getevents nice
 * t-case: limited_events fork
 */
#include "../calls.h"
#include <linux/aio_abi.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

/* So many that the kernel thread that is to be main's has one of them. */
enum { THREADS = 6 };

static struct timespec long_limit = { 100, 0 };

/* --- what the others wait for ------------------------------------------------- */

static int sem, queue, ends[2];
static aio_context_t aio;

static void open_sem(void)
{
	sem = semget(IPC_PRIVATE, 1, 0600);
	if (sem < 0 && errno == ENOSYS)
		t_skip("the kernel has no System V IPC");
	CHECK(sem >= 0);
}

static long down(void *limit)
{
	struct sembuf op = { 0, -1, 0 };

	return limit ? semtimedop(sem, &op, 1, limit) : semop(sem, &op, 1);
}

static void up(void)
{
	struct sembuf op = { 0, THREADS, 0 };

	CHECK(semop(sem, &op, 1) == 0);
}

static void close_sem(void)
{
	CHECK(semctl(sem, 0, IPC_RMID) == 0);
}

static void open_queue(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	if (queue < 0 && errno == ENOSYS)
		t_skip("the kernel has no System V IPC");
	CHECK(queue >= 0);
}

static long receive(void *arg)
{
	long m[2];

	(void)arg;
	return msgrcv(queue, m, 0, 0, 0);
}

static void send_all(void)
{
	long m[2] = { 1, 0 };

	for (int i = 0; i < THREADS; i++)
		CHECK(msgsnd(queue, m, 0, 0) == 0);
}

static void close_queue(void)
{
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
}

/* Each is told when a pipe is ready, which it is not. */
static void open_aio(void)
{
	struct iocb io = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN },
		    *ios[1] = { &io };

	if (syscall(SYS_io_setup, THREADS, &aio) < 0 && errno == ENOSYS)
		t_skip("the kernel has no AIO");
	CHECK(aio);
	t_pipe(ends);
	io.aio_fildes = (uint32_t)ends[0];
	for (int i = 0; i < THREADS; i++)
		CHECK(syscall(SYS_io_submit, aio, 1, ios) == 1);
}

static long event(void *limit)
{
	struct io_event e;

	return syscall(SYS_io_getevents, aio, 1, 1, &e, limit);
}

static void make_ready(void)
{
	t_put(ends[1], 'x');
}

static void close_aio(void)
{
	CHECK(syscall(SYS_io_destroy, aio) == 0);
}

static const struct {
	const char *name;
	void (*open)(void);
	long (*wait)(void *);
	struct timespec *limit;
	void (*end)(void);
	void (*close)(void);
} waits[] = {
	{ "semop", open_sem, down, NULL, up, close_sem },
	{ "semtimedop", open_sem, down, &long_limit, up, close_sem },
	{ "msgrcv", open_queue, receive, NULL, send_all, close_queue },
	{ "io_getevents", open_aio, event, NULL, make_ready, close_aio },
	{ "limited_events", open_aio, event, &long_limit, make_ready,
	  close_aio },
};

/* --- what main does ------------------------------------------------------------ */

static void by_fork(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(3);
	t_say("child: %d", WEXITSTATUS(t_wait(pid)));
}

static void by_popen(void)
{
	FILE *f = popen("echo from a child", "r");
	char line[64];

	CHECK(f && fgets(line, sizeof(line), f));
	CHECK(pclose(f) == 0);
	line[strcspn(line, "\n")] = 0;
	t_say("%s", line);
}

static void by_system(void)
{
	t_say("system: %d", WEXITSTATUS(system("exit 4")));
}

static void by_nice(void)
{
	errno = 0;
	CHECK(nice(1) >= 0 || !errno);
	t_say("nicer");
}

static void by_affinity(void)
{
	cpu_set_t set = t_one_cpu();

	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	t_say("on one CPU");
}

static const struct {
	const char *name;
	void (*fn)(void);
} acts[] = { { "fork", by_fork },
	     { "popen", by_popen },
	     { "system", by_system },
	     { "nice", by_nice },
	     { "affinity", by_affinity } };

int main(int argc, char **argv)
{
	struct t_call c[THREADS];
	size_t w = 0, a = 0;
	sigset_t set, old;

	CHECK(argc == 3);
	while (w < T_LEN(waits) && strcmp(waits[w].name, argv[1]))
		w++;
	while (a < T_LEN(acts) && strcmp(acts[a].name, argv[2]))
		a++;
	CHECK(w < T_LEN(waits) && a < T_LEN(acts));
	waits[w].open();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
	for (int i = 0; i < THREADS; i++)
		t_begin(&c[i], waits[w].wait, waits[w].limit);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	acts[a].fn();
	for (int i = 0; i < THREADS; i++)
		t_waits(&c[i]);
	waits[w].end();
	for (int i = 0; i < THREADS; i++)
		t_ended("wait", &c[i]);
	waits[w].close();
	return 0;
}
