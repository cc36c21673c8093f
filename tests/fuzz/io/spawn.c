/*
 * The actors' process, as the director has it: how it begins, and what goes with it.
 *
 * One CPU: where the kernel wakes somebody first and looks afterwards at what
 * that one may have changed by then, two CPUs race, natively as well as hooked.
 * On one the waker has looked before the other runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "io.h"

pid_t fz_child;
int fz_command[FZ_ACTORS];

/* As a line of a transcript, in which it is shown. */
void fz_fail(const char *what, int err)
{
	printf("0\tnot played: %s%s%s\n", what, err ? ": " : "",
	       err ? strerror(err) : "");
	exit(2);
}

static void clean(void)
{
	char path[80];

	if (fz_child > 0)
		kill(fz_child, SIGKILL);
	for (int i = 0; i < FZ_ACTORS; i++)
		if (fz_shared->slot[i].pid)
			kill(fz_shared->slot[i].pid, SIGKILL);
	if (fz_shared->ipc[0])
		msgctl(fz_shared->ipc[0] - 1, IPC_RMID, NULL);
	if (fz_shared->ipc[1])
		semctl(fz_shared->ipc[1] - 1, 0, IPC_RMID);
	snprintf(path, sizeof(path), "%s/fifo", fz_shared->dir);
	unlink(path);
	rmdir(fz_shared->dir);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(126);
}

static void become_actors(const char *library, int mem, int (*fd)[2])
{
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	if (library)
		setenv("LD_PRELOAD", library, 1);
	/* Above all that is moved below, which may be in the way. */
	mem = fcntl(mem, F_DUPFD, 100);
	for (int i = 0; i < FZ_ACTORS; i++)
		fd[i][0] = fcntl(fd[i][0], F_DUPFD, 100);
	for (int i = 0; i < FZ_ACTORS; i++)
		dup2(fd[i][0], FZ_COMMANDS + i);
	dup2(mem, FZ_COMMANDS + FZ_ACTORS);
	dup2(null, 0);
	dup2(null, 1);
	syscall(SYS_close_range, 3, FZ_COMMANDS - 1, 0);
	syscall(SYS_close_range, FZ_COMMANDS + FZ_ACTORS + 1, ~0u, 0);
	execl("/proc/self/exe", "play", "--actors", NULL);
	_exit(127);
}

/* Until each thread waits for its first line. */
static void await_actors(int64_t end)
{
	int ready = 0, status;

	while (ready < FZ_THREADS) {
		ready = 0;
		for (int i = 0; i < FZ_THREADS; i++)
			ready += fz_shared->slot[i].pid != 0;
		if (waitpid(fz_child, &status, WNOHANG) == fz_child) {
			fz_child = 0; /* and its number may be another's */
			fz_fail("the actors have ended", 0);
		}
		if (fz_now_ms() > end)
			fz_fail("the actors do not begin", 0);
		fz_nap();
	}
}

void fz_spawn(const char *library, int cpu, long limit_ms)
{
	int fd[FZ_ACTORS][2], mem = memfd_create("play", 0);
	int64_t t0 = fz_now_ms();

	if (mem < 0 || ftruncate(mem, sizeof(*fz_shared)))
		fz_fail("memfd", errno);
	fz_shared = mmap(NULL, sizeof(*fz_shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, mem, 0);
	if (fz_shared == MAP_FAILED)
		fz_fail("mmap", errno);
	/* Not by our number: one that was killed has left its directory. */
	strcpy(fz_shared->dir, "/tmp/fuzzio.XXXXXX");
	if (!mkdtemp(fz_shared->dir))
		fz_fail("a directory in /tmp", errno);
	atexit(clean);
	for (int i = 0; i < FZ_ACTORS; i++) {
		if (pipe2(fd[i], O_CLOEXEC))
			fz_fail("pipe", errno);
		fz_command[i] = fd[i][1];
	}
	fflush(stdout);
	fz_child = fork();
	if (fz_child < 0)
		fz_fail("fork", errno);
	if (fz_child == 0) {
		if (cpu >= 0)
			stay_on(cpu);
		become_actors(library, mem, fd);
	}
	for (int i = 0; i < FZ_ACTORS; i++)
		close(fd[i][0]);
	close(mem);
	await_actors(t0 + limit_ms);
}
