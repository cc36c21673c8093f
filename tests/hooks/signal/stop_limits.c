/*
 * A process is stopped until the limits of its calls are over. epoll_wait(), sigtimedwait(),
 * semtimedop(), io_getevents() and socket calls with a limit end with EINTR all the same,
 * since the stop was first; what has its end by the clock is over (poll(), nanosleep(), a
 * futex). select(), pselect() and ppoll() begin anew with what was left when the process was
 * stopped, and leave that behind where a handler ends them.
 *
 * t-case: ended
 * t-case: left
 * t-case: twice
 * t-case: handled
 * t-no-stats: the stopped child leaves by _exit()
 */
#include "../calls.h"
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>

enum { LIMIT = 500, LONGER = 400, SLACK = 50 }; /* ms */

struct stop {
	int64_t stopped, went_on; /* at the latest, at the soonest */
};

static const struct timespec limit = { 0, LIMIT *T_MS };
static int ep, sem, nothing;
static sigset_t usr2;
static aio_context_t context;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / T_MS;
}

static long epolls(void *arg)
{
	struct epoll_event ev;

	(void)arg;
	return epoll_wait(ep, &ev, 1, LIMIT);
}

static long recvs(void *arg)
{
	char c;

	return recv(*(int *)arg, &c, 1, 0);
}

static long accepts(void *arg)
{
	return accept(*(int *)arg, NULL, NULL);
}

static long sigwaits(void *arg)
{
	(void)arg;
	return sigtimedwait(&usr2, NULL, &limit);
}

static long semops(void *arg)
{
	struct sembuf b = { 0, -1, 0 };

	(void)arg;
	return semtimedop(sem, &b, 1, &limit);
}

static long gets_events(void *arg)
{
	struct timespec ts = limit;
	struct io_event ev;

	(void)arg;
	return syscall(SYS_io_getevents, context, 1, 1, &ev, &ts);
}

static long sleeps(void *arg)
{
	(void)arg;
	return nanosleep(&limit, NULL);
}

static long waits(void *arg)
{
	return syscall(SYS_futex, arg, FUTEX_WAIT_PRIVATE, 0, &limit);
}

static long polls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, LIMIT);
}

static struct timeval tv_left = { 0, LIMIT * 1000 };

static long selects(void *arg)
{
	int fd = *(int *)arg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &tv_left);
}

static long selects_none(void *arg)
{
	struct timeval tv = { 0, LIMIT * 1000 };

	(void)arg;
	return select(0, NULL, NULL, NULL, &tv);
}

static long pselects(void *arg)
{
	int fd = *(int *)arg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return pselect(fd + 1, &set, NULL, NULL, &limit, NULL);
}

static long ppolls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return ppoll(&p, 1, &limit, NULL);
}

/* Who stops it has it go on when the limits have been over for so long. */
static struct stop be_stopped(int to, int from)
{
	int64_t end = now_ms() + LIMIT + LONGER;
	struct stop stop;

	CHECK(write(to, &end, sizeof(end)) == sizeof(end));
	t_read(from, &stop, sizeof(stop));
	CHECK(now_ms() >= end);
	return stop;
}

static void ended(int to, int from)
{
	static const struct timeval tv = { 0, LIMIT * 1000 };
	static uint32_t word;
	struct t_call c[10];
	int sv[2], port, l = t_listen(&port);

	t_pair(sv);
	CHECK_0(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	CHECK_0(setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	t_begin_one(&c[0], epolls, NULL);
	t_begin_one(&c[1], recvs, &sv[0]);
	t_begin_one(&c[2], accepts, &l);
	t_begin_one(&c[3], sigwaits, NULL);
	t_begin_one(&c[4], semops, NULL);
	t_begin_one(&c[5], gets_events, NULL);
	t_begin_one(&c[6], sleeps, NULL);
	t_begin_one(&c[7], waits, &word);
	t_begin_one(&c[8], polls, &nothing);
	t_pause();
	be_stopped(to, from);
	t_ended("epoll_wait", &c[0]);
	t_ended("recv", &c[1]);
	t_ended("accept", &c[2]);
	t_ended("sigtimedwait", &c[3]);
	t_ended("semtimedop", &c[4]);
	t_ended("io_getevents", &c[5]);
	t_ended("nanosleep", &c[6]);
	t_ended("futex", &c[7]);
	t_ended("poll", &c[8]);
}

static void say_left(int64_t ms, int64_t expected)
{
	if (ms < expected - SLACK)
		t_say("%lld ms left, of %lld", (long long)ms,
		      (long long)expected);
	else
		t_say("what was left");
}

/* They go on for what was left of LIMIT when each stop has been taken off. */
static void left(int to, int from, int times)
{
	static long (*const calls[])(void *) = { selects, pselects, ppolls,
						 selects_none };
	struct t_call c[4];
	struct stop stop = { .went_on = now_ms() };
	int64_t spent = 0;

	for (int i = 0; i < 4; i++)
		t_begin_one(&c[i], calls[i], &nothing);
	t_pause();
	for (int i = 0; i < times; i++) {
		int64_t since = stop.went_on;

		stop = be_stopped(to, from);
		spent += stop.stopped - since;
	}
	for (int i = 0; i < 4; i++)
		CHECK_0(t_end(&c[i]));
	say_left(now_ms() - stop.went_on, LIMIT - spent);
	t_say("and then %ld",
	      (long)(tv_left.tv_sec * 1000000 + tv_left.tv_usec));
}

static void on_cont(int sig)
{
	(void)sig;
}

static void handled(int to, int from)
{
	struct stop stop;
	struct t_call c;
	int64_t began;

	t_handle(SIGCONT, on_cont, SA_RESTART);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	began = now_ms();
	t_begin(&c, selects, &nothing);
	/* The others let that one have it. */
	sigaddset(&usr2, SIGCONT);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	stop = be_stopped(to, from);
	t_ended("select", &c);
	say_left(tv_left.tv_usec / 1000, LIMIT - (stop.stopped - began));
}

static int in_child(const char *how, int to, int from)
{
	int p[2];

	ep = epoll_create1(0);
	t_pipe(p);
	nothing = p[0];
	CHECK_0(syscall(SYS_io_setup, 1, &context));
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	CHECK_0(sigprocmask(SIG_BLOCK, &usr2, NULL));
	if (!strcmp(how, "ended"))
		ended(to, from);
	else if (!strcmp(how, "handled"))
		handled(to, from);
	else
		left(to, from, !strcmp(how, "twice") ? 2 : 1);
	return 0;
}

static void until_ms(int64_t end)
{
	struct timespec ts = { end / 1000, end % 1000 * T_MS };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

int main(int argc, char **argv)
{
	int up[2], down[2], st;
	struct stop stop;
	int64_t end;
	pid_t pid;

	CHECK(argc == 2);
	t_pipe(up);
	t_pipe(down);
	sem = semget(IPC_PRIVATE, 1, 0600);
	CHECK(sem >= 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(up[0]);
		_exit(in_child(argv[1], up[1], down[0]));
	}
	t_close(up[1]);
	while (read(up[0], &end, sizeof(end)) == sizeof(end)) {
		t_rested(pid);
		CHECK(kill(pid, SIGSTOP) == 0);
		CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
		stop.stopped = now_ms();
		until_ms(end);
		stop.went_on = now_ms();
		CHECK(kill(pid, SIGCONT) == 0);
		t_write(down[1], &stop, sizeof(stop));
	}
	st = t_wait(pid);
	semctl(sem, 0, IPC_RMID);
	CHECK(WIFEXITED(st));
	return WEXITSTATUS(st);
}
