/*
 * Threads that run: their registers are nowhere but in the kernel, which shows
 * them to a tracer, of a thread that it has stopped.
 *
 * Which thread, the process says, so it may say anything: only one that is
 * listed in its /proc/PID/task is touched. That is looked at again after the
 * thread was seized, when its number can no longer become another one's.
 *
 * A tracer that ends, in whatever way, lets its threads go on. No option asks
 * for anything else.
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "runtime/compat.h"

/* A millisecond each. */
#define STOP_TRIES 200
#define RUN_TRIES  2000 /* of one that will, on a busy machine */

/* --- which thread --------------------------------------------------------- */

static bool is_ours(pid_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "task/%d", (int)tid);
	return tid > 0 && fstatat(dump_proc, path, &st, 0) == 0;
}

/* Numbers of a task, the innermost namespace's last: "NSpid:\t4711\t2". */
static pid_t innermost(FILE *status, bool *nested)
{
	char line[256];
	pid_t tid = 0;

	*nested = false;
	while (status && fgets(line, sizeof(line), status)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) != 0 || !last)
			continue;
		tid = atoi(last);
		*nested = strchr(line, '\t') != last;
		break;
	}
	if (status)
		fclose(status);
	return tid;
}

/* Our number of the thread that the process knows as @tid, or 0. */
static pid_t translate(pid_t tid)
{
	bool nested;
	struct dirent *e;
	pid_t found = 0;
	DIR *d;
	int fd;

	innermost(dump_file(dump_proc, "status"), &nested);
	if (!nested)
		return tid;
	fd = openat(dump_proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	while (d && !found && (e = readdir(d)))
		if (isdigit(*e->d_name) &&
		    innermost(dump_file(dump_proc, "task/%s/status", e->d_name),
			      &nested) == tid)
			found = atoi(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/* Who else traces it, for a line of its own. */
static const char *tracer_of(pid_t tid)
{
	static char text[256];
	FILE *f = dump_file(dump_proc, "task/%d/status", (int)tid);
	char line[256], path[64], name[64] = "?\n";
	int tracer = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	if (!tracer)
		return "no right to stop its thread";
	snprintf(path, sizeof(path), "/proc/%d/comm", tracer);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		strcpy(name, "?\n");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = 0;
	snprintf(text, sizeof(text), "its thread is traced by process %d, %s",
		 tracer, cli_text(name));
	return text;
}

/* --- is it in a call that a stop would disturb ----------------------------- */

static pid_t stopped;
static int pending_signal;
static unsigned late; /* seized, and not yet stopped */

/* Calls that return EINTR to the program when a stop interrupts them. */
static bool is_disturbed(long nr)
{
	static const short calls[] = {
		SYS_epoll_wait, SYS_epoll_pwait,  441 /* epoll_pwait2 */,
		SYS_semop,	SYS_semtimedop,	  SYS_rt_sigtimedwait,
		SYS_msgrcv,	SYS_io_getevents, SYS_msgsnd,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

static bool is_socket_call(long nr)
{
	static const short calls[] = {
		SYS_read,     SYS_write,    SYS_readv,	 SYS_writev,
		SYS_recvfrom, SYS_sendto,   SYS_recvmsg, SYS_sendmsg,
		SYS_recvmmsg, SYS_sendmmsg, SYS_accept,	 SYS_accept4,
		SYS_connect,
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* Those with a timeout are not restarted either; what is unknown, is one. */
static bool has_timeout(int fd)
{
	struct timeval in = { 0 }, out = { 0 };
	socklen_t len = sizeof(in);
	int process = (int)syscall(SYS_pidfd_open, dump_pid, 0);
	int copy = -1, r;

	/* It is still the process, so the id was not another's meanwhile. */
	if (process >= 0 && is_ours(dump_pid))
		copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (process >= 0)
		close(process);
	if (copy < 0)
		return true;
	r = getsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &in, &len);
	if (r == 0)
		r = getsockopt(copy, SOL_SOCKET, SO_SNDTIMEO, &out, &len);
	close(copy);
	return r == 0 && (in.tv_sec || in.tv_usec || out.tv_sec || out.tv_usec);
}

static bool must_not_stop(pid_t tid)
{
	FILE *f = dump_file(dump_proc, "task/%d/syscall", (int)tid);
	unsigned long fd = 0;
	long nr = -1;

	if (f) {
		if (fscanf(f, "%ld %lx", &nr, &fd) != 2)
			nr = -1;
		fclose(f);
	}
	return is_disturbed(nr) || (is_socket_call(nr) && has_timeout((int)fd));
}

/* --- stopping it ----------------------------------------------------------- */

/* In uninterruptible sleep; any other stops once others let it have a processor. */
static bool is_stuck(pid_t tid)
{
	FILE *f = dump_file(dump_proc, "task/%d/stat", (int)tid);
	char line[256], *name_ends = NULL;

	if (f) {
		/* Any character may be in its name. */
		if (fgets(line, sizeof(line), f))
			name_ends = strrchr(line, ')');
		fclose(f);
	}
	return name_ends && !strncmp(name_ends, ") D", 3);
}

static bool wait_for_stop(pid_t tid)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < STOP_TRIES || (i < RUN_TRIES && !is_stuck(tid));
	     i++) {
		int status;
		pid_t r = waitpid(tid, &status, __WALL | WNOHANG);

		if (r < 0 || (r == tid && !WIFSTOPPED(status)))
			return false;
		if (r == tid) {
			pending_signal = status >> 16 ? 0 : WSTOPSIG(status);
			return true;
		}
		nanosleep(&ms, NULL);
	}
	return false;
}

const char *dump_thread_stop(pid_t tid, uint64_t regs[DUMP_REGS])
{
	struct user_regs_struct u;
	struct iovec iov = { &u, sizeof(u) };

	if (dump_core.path)
		return dump_core_regs(tid, regs);
	tid = translate(tid);
	if (!is_ours(tid))
		return "its worker is no thread of the process";
	if (must_not_stop(tid))
		return "blocked in a call that a stop would disturb";
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == EPERM ? tracer_of(tid) :
					"its thread cannot be stopped";
	stopped = tid;
	if (!is_ours(tid) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
	    !wait_for_stop(tid)) {
		dump_thread_go();
		return "its thread does not stop";
	}
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov)) {
		dump_thread_go();
		return "its registers cannot be read";
	}
	dump_regs_of_thread(regs, &u);
	return NULL;
}

void dump_thread_go(void)
{
	/* Only one that is stopped can be let go. */
	if (stopped &&
	    ptrace(PTRACE_DETACH, stopped, NULL, (void *)(long)pending_signal))
		late++;
	stopped = 0;
	pending_signal = 0;
}

void dump_threads_late(void)
{
	int status;
	pid_t tid;

	while (late && (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tid, NULL,
			       (void *)(long)(status >> 16 ? 0 :
							     WSTOPSIG(status)));
		late--;
	}
}
