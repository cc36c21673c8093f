/*
 * A thread with a nice value of its own waits to read: closed, interrupted, cancelled,
 * beside others who wait for the same, with a limit, with errors that a read does not
 * take away.
 *
 * t-case: data
 * t-case: end
 * t-case: closed
 * t-case: replaced
 * t-case: handlers
 * t-case: limit
 * t-case: cancelled
 * t-case: errors
 * t-case: company
 * t-case: order
 * t-chaos-but no_watch: who is served first waits in fibers, not in poll
 */
#include "../calls.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

static long read_one(void *arg)
{
	char c;
	ssize_t r = read(*(int *)arg, &c, 1);

	return r == 1 ? c : r;
}

static long nice_read(void *arg)
{
	CHECK(setpriority(PRIO_PROCESS, 0, 1) == 0);
	return read_one(arg);
}

static void *data(void *arg)
{
	struct t_call c;
	pid_t pid;
	int p[2];

	t_pipe(p);
	t_begin(&c, nice_read, &p[0]);
	t_put(p[1], 'a');
	t_ended("pipe", &c);
	t_pair(p);
	t_begin(&c, nice_read, &p[0]);
	t_put(p[1], 'b');
	t_ended("pair", &c);
	t_tcp_pair(p);
	t_begin(&c, nice_read, &p[0]);
	t_put(p[1], 'c');
	t_ended("tcp", &c);
	t_begin(&c, nice_read, &p[0]);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_put(p[1], 'd');
		_exit(0);
	}
	t_ended("by a child", &c);
	t_wait_ok(pid);
	return arg;
}

static void *end(void *arg)
{
	struct linger at_once = { 1, 0 };
	struct t_call c;
	int p[2];

	t_pipe(p);
	t_begin(&c, nice_read, &p[0]);
	t_close(p[1]);
	t_ended("pipe closed", &c);
	t_pair(p);
	t_begin(&c, nice_read, &p[0]);
	CHECK(shutdown(p[0], SHUT_RD) == 0);
	t_ended("shut by another thread", &c);
	t_tcp_pair(p);
	t_begin(&c, nice_read, &p[0]);
	CHECK_0(setsockopt(p[1], SOL_SOCKET, SO_LINGER, &at_once,
			   sizeof(at_once)));
	t_close(p[1]);
	t_ended("reset", &c);
	return arg;
}

static void *closed(void *arg)
{
	struct t_call c;
	int p[2];

	t_pair(p);
	t_begin(&c, nice_read, &p[0]);
	t_close(p[0]);
	t_waits(&c);
	t_put(p[1], 'a');
	t_ended("closed meanwhile", &c);
	return arg;
}

static void *replaced(void *arg)
{
	struct t_call c, next;
	int p[2], q[2];

	t_pipe(p);
	t_pipe(q);
	t_begin(&c, nice_read, &p[0]);
	CHECK(dup2(q[0], p[0]) == p[0]);
	t_begin(&next, nice_read, &p[0]);
	t_put(q[1], 'q');
	t_ended("the next one", &next);
	t_waits(&c);
	t_put(p[1], 'p');
	t_ended("replaced meanwhile", &c);
	return arg;
}

static atomic_int handled;

static void handler(int sig)
{
	handled += sig;
}

static void *handlers(void *arg)
{
	struct t_call c;
	int p[2];

	t_pair(p);
	t_handle(SIGUSR1, handler, 0);
	t_begin(&c, nice_read, &p[0]);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("handler", &c);
	t_handle(SIGUSR1, handler, SA_RESTART);
	t_begin(&c, nice_read, &p[0]);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_waits(&c);
	t_put(p[1], 'a');
	t_ended("restarted", &c);
	CHECK(handled == 2 * SIGUSR1);
	return arg;
}

static void *limit(void *arg)
{
	struct timeval tv = { 0, 60000 };
	struct t_call c;
	long long start;
	int p[2];

	t_tcp_pair(p);
	CHECK_0(setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	start = t_now();
	t_begin(&c, nice_read, &p[0]);
	t_ended("limit", &c);
	T_TOOK(start, 60 * T_MS);
	tv.tv_sec = 10;
	CHECK_0(setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	t_begin(&c, nice_read, &p[0]);
	t_put(p[1], 'a');
	t_ended("within it", &c);
	return arg;
}

static void *cancelled(void *arg)
{
	struct t_call c;
	int p[2];

	t_pipe(p);
	t_begin(&c, nice_read, &p[0]);
	t_cancel(c.th);
	CHECK(t_join(c.th) == PTHREAD_CANCELED);
	t_begin(&c, nice_read, &p[0]);
	t_put(p[1], 'a');
	t_ended("after one was cancelled", &c);
	return arg;
}

/* Its clock is the kernel's from when it asks for it. */
static long metered_read(void *arg)
{
	struct timespec ts;

	CHECK_0(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return nice_read(arg);
}

static long long cpu_ns(pthread_t th)
{
	clockid_t clock;

	CHECK_0(pthread_getcpuclockid(th, &clock));
	return t_now_on(clock);
}

/* An error that is queued makes poll() return at once, and a read wait all the same. */
static void *errors(void *arg)
{
	struct sockaddr_in to = t_addr(0);
	struct msghdr m = { 0 };
	char text[CMSG_SPACE(200)];
	socklen_t n = sizeof(to);
	struct t_call c;
	long long cpu;
	int on = 1, gone, u, port;

	gone = t_bound(SOCK_DGRAM, &port);
	t_close(gone);
	to = t_addr(port);
	u = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(u >= 0);
	CHECK_0(setsockopt(u, IPPROTO_IP, IP_RECVERR, &on, sizeof(on)));
	CHECK_0(connect(u, (struct sockaddr *)&to, sizeof(to)));
	t_begin(&c, nice_read, &u);
	CHECK(send(u, "x", 1, 0) == 1);
	t_ended("refused", &c);
	t_begin(&c, metered_read, &u);
	cpu = cpu_ns(c.th);
	for (int i = 0; i < 10; i++)
		t_waits(&c);
	CHECK(cpu_ns(c.th) - cpu < 50 * T_MS);
	m.msg_control = text;
	m.msg_controllen = sizeof(text);
	CHECK(recvmsg(u, &m, MSG_ERRQUEUE) >= 0);
	t_waits(&c);
	CHECK_0(getsockname(u, (struct sockaddr *)&to, &n));
	CHECK_0(connect(u, (struct sockaddr *)&to, sizeof(to)));
	CHECK(send(u, "a", 1, 0) == 1);
	t_ended("after it", &c);
	return arg;
}

static long sees(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	CHECK(poll(&p, 1, -1) == 1);
	return p.revents;
}

/* Who comes next to wait for the same finds it polled already. */
static void *company(void *arg)
{
	struct t_call c[3], look;
	int p[2];

	t_pipe(p);
	t_begin(&c[0], nice_read, &p[0]);
	t_begin(&look, sees, &p[0]);
	t_begin(&c[1], read_one, &p[0]);
	t_begin(&c[2], nice_read, &p[0]);
	for (int i = 0; i < 3; i++) {
		t_put(p[1], (char)('a' + i));
		t_ended("in turn", &c[i]);
	}
	t_put(p[1], 'd'); /* it may have found the others taken already */
	t_ended("poll", &look);
	return arg;
}

static sem_t took;
static atomic_int who, over;

static long notes(void *arg)
{
	char c;

	CHECK(read(*(int *)arg, &c, 1) == 1);
	CHECK(sem_post(&took) == 0);
	return c;
}

static void pin(void)
{
	cpu_set_t all, one;

	CHECK_0(sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	/* The last: on the first are those of other programs that keep to one. */
	for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&one) == 0; i--)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	CHECK_0(sched_setaffinity(0, sizeof(one), &one));
}

static long notes_late(void *arg)
{
	struct sched_param none = { 0 };

	pin();
	CHECK_0(sched_setscheduler(0, SCHED_IDLE, &none));
	return notes(arg);
}

static long notes_soon(void *arg)
{
	CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
	return notes(arg);
}

static long computes(void *arg)
{
	pin();
	while (!over)
		who++;
	return 0 * *(int *)arg;
}

/*
 * Who is asked tells when nobody in this process runs, or is to: a process of its own,
 * which sees kernel threads, though they be no threads to this one. There is no event
 * of that: it looks ten times in a row, and for as long as it takes.
 */
static void watch(const int asked[2], const int answers[2])
{
	pid_t pid = fork();
	char b;

	CHECK(pid >= 0);
	if (pid)
		return;
	t_close(asked[1]);
	while (read(asked[0], &b, 1) == 1) {
		for (int quiet = 0; quiet < 10;
		     quiet = t_running_of(getppid()) ? 0 : quiet + 1)
			usleep(2000);
		t_put(answers[1], 'q');
	}
	_exit(0);
}

static void wait_took(void)
{
	t_down(&took);
}

/*
 * The second of three hardly gets its processor. What it waits for is not taken by the
 * third meanwhile, whose turn has not come.
 */
static void *order(void *arg)
{
	long (*const notes_of[3])(void *) = { notes_soon, notes_late,
					      notes_soon };
	int p[2], asked[2], answers[2];
	struct t_call c[3], busy;

	CHECK_0(sem_init(&took, 0, 0));
	t_pipe(asked);
	t_pipe(answers);
	watch(asked, answers);
	t_pipe(p);
	for (int i = 0; i < 3; i++) {
		t_begin(&c[i], notes_of[i], &p[0]);
		t_put(asked[1], 'q');
		CHECK(t_get(answers[0]) == 'q');
	}
	t_begin(&busy, computes, &p[0]);
	for (int i = 0; i < 3; i++) {
		t_put(p[1], (char)('a' + i));
		wait_took();
	}
	over = 1;
	t_end(&busy);
	for (int i = 0; i < 3; i++)
		t_ended("in turn", &c[i]);
	t_close(asked[1]);
	CHECK(wait(NULL) > 0);
	return arg;
}

static const struct t_case cases[] = {
	{ "data", data },	    { "end", end },
	{ "closed", closed },	    { "replaced", replaced },
	{ "handlers", handlers },   { "limit", limit },
	{ "cancelled", cancelled }, { "errors", errors },
	{ "company", company },	    { "order", order },
};

int main(int argc, char **argv)
{
	t_run_case(cases, sizeof(cases) / sizeof(*cases), argv[argc - 1]);
	return 0;
}
