/* Steps about signals, processes, and their terminal. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include "io.h"

/* mask block|unblock SIGNAL: the calling thread's */
static void op_mask(struct fz_call *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, fz_signal(c->w[2]));
	errno = pthread_sigmask(fz_has(c, "block") ? SIG_BLOCK : SIG_UNBLOCK,
				&set, NULL);
	fz_ret(c, errno ? -1 : 0);
}

/* pending SIGNAL */
static void op_pending(struct fz_call *c)
{
	sigset_t set;

	sigpending(&set);
	fz_ret(c, sigismember(&set, fz_signal(c->w[1])));
}

/* tkill ACTOR SIGNAL: a thread; kill SIGNAL: the own process */
static void op_tkill(struct fz_call *c)
{
	pthread_t t = fz_thread((int)fz_num(c, 1) % FZ_THREADS);

	errno = t ? pthread_kill(t, fz_signal(c->w[2])) : ESRCH;
	fz_ret(c, errno ? -1 : 0);
}

static void op_kill(struct fz_call *c)
{
	fz_ret(c, kill(getpid(), fz_signal(c->w[1])));
}

/* fork ACTOR [pdeath]: a child, which is that actor from now on */
static void op_fork(struct fz_call *c)
{
	int child = fz_new_actor(c);
	pid_t pid;

	if (child < 0)
		return;
	pid = fork();
	if (pid == 0) {
		if (fz_has(c, "pdeath"))
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		fz_serve(child);
	}
	if (pid > 0)
		fz_shared->slot[child].pid = pid;
	fz_say(c, "%s", pid > 0 ? "ok" : "failed");
}

/* exit N: of a child */
static void op_exit(struct fz_call *c)
{
	if (c->self >= FZ_THREADS)
		_exit((int)fz_num(c, 1));
	fz_say(c, "no child");
}

static void *nothing(void *arg)
{
	return arg;
}

/* threaded: a child has had a thread */
static void op_threaded(struct fz_call *c)
{
	pthread_t t;
	int r = pthread_create(&t, NULL, nothing, NULL);

	if (!r)
		r = pthread_join(t, NULL);
	fz_say(c, "%d", r);
}

/* wait ACTOR [any|group|mine] [nohang] [untraced] [nothread]: group: the child's; mine */
static void op_wait(struct fz_call *c)
{
	int status = 0, k = (int)fz_num(c, 1);
	pid_t pid = fz_has(c, "any")  ? -1 :
		    fz_has(c, "mine") ? 0 :
					fz_shared->slot[k].pid,
	      r;

	if (!pid && !fz_has(c, "mine")) {
		fz_say(c, "no such actor");
		return;
	}
	if (fz_has(c, "group"))
		pid = -getpgid(pid);
	r = waitpid(pid, &status, (int)fz_flags(c, 2));
	if (r <= 0) {
		fz_ret(c, r);
		return;
	}
	for (k = FZ_THREADS; k < FZ_ACTORS; k++)
		if (fz_shared->slot[k].pid == r)
			fz_say(c, "actor %d ", k);
	if (WIFEXITED(status))
		fz_say(c, "exit %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		fz_say(c, "signal %d", WTERMSIG(status));
	else if (WIFSTOPPED(status))
		fz_say(c, "stopped %d", WSTOPSIG(status));
}

/* session A: the child has one of its own, with terminal A */
static void op_session(struct fz_call *c)
{
	int r = setsid() < 0 ? -1 : ioctl(fz_fd(c, 1), TIOCSCTTY, 0);

	fz_ret(c, r);
}

/* group: a process group of its own, in the background then */
static void op_group(struct fz_call *c)
{
	fz_ret(c, setpgid(0, 0));
}

/* joins ACTOR OTHER: into the group that OTHER's process has, or begins */
static void op_joins(struct fz_call *c)
{
	int k = (int)fz_num(c, 1), other = (int)fz_num(c, 2);

	fz_ret(c, setpgid(fz_shared->slot[k].pid,
			  k == other ? 0 : getpgid(fz_shared->slot[other].pid)));
}

/* front A: the own group into the foreground */
static void op_front(struct fz_call *c)
{
	fz_ret(c, tcsetpgrp(fz_fd(c, 1), getpgrp()));
}

/* setattr A: what it is already */
static void op_setattr(struct fz_call *c)
{
	struct termios t;

	fz_ret(c, tcgetattr(fz_fd(c, 1), &t) ||
				  tcsetattr(fz_fd(c, 1), TCSANOW, &t) ?
			  -1 :
			  0);
}

const struct fz_op fz_task_ops[] = {
	{ "mask", op_mask },
	{ "pending", op_pending },
	{ "tkill", op_tkill },
	{ "kill", op_kill },
	{ "fork", op_fork },
	{ "exit", op_exit },
	{ "threaded", op_threaded },
	{ "wait", op_wait },
	{ "session", op_session },
	{ "group", op_group },
	{ "joins", op_joins },
	{ "front", op_front },
	{ "setattr", op_setattr },
	{ 0 },
};
