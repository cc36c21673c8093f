/*
 * poll() and select() of a POSIX message queue: told of what comes and of room,
 * unless somebody waits for just that in mq_receive() or mq_send().
 *
 * t-case: told
 * t-case: beside
 * t-case: others
 * t-case: limits
 * t-case: closed
 * t-case: turns
 * t-case: storm
 */
#include <mqueue.h>
#include <sys/select.h>
#include "../calls.h"

static mqd_t q, again; /* the same queue, opened twice */

static mqd_t opened(const char *name, int flags)
{
	struct mq_attr a = { .mq_maxmsg = 2, .mq_msgsize = 1 };
	mqd_t fd = mq_open(name, flags | O_CREAT, 0600, &a);

	if (fd == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(fd != (mqd_t)-1);
	return fd;
}

static void make(void)
{
	char name[32];

	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	q = opened(name, O_RDWR | O_EXCL);
	again = opened(name, O_RDWR);
	CHECK_0(mq_unlink(name));
}

static void put(void)
{
	CHECK_0(mq_send(q, "x", 1, 0));
}

static void take(void)
{
	char c;

	CHECK(mq_receive(q, &c, 1, NULL) == 1);
}

static void is(int messages)
{
	struct mq_attr a;

	CHECK_0(mq_getattr(q, &a));
	CHECK(a.mq_curmsgs == messages);
}

struct ask {
	struct pollfd p[2];
	nfds_t n;
	int ms;
};

static long polls(void *arg)
{
	struct ask *a = arg;

	return poll(a->p, a->n, a->ms);
}

static struct ask asks(mqd_t fd, short events, int ms)
{
	return (struct ask){ { { fd, events, 0 } }, 1, ms };
}

static void shown(const char *what, struct t_call *c, const struct ask *a)
{
	t_ended(what, c);
	for (nfds_t i = 0; i < a->n; i++)
		t_say("    %#x", a->p[i].revents);
}

static long selects(void *arg)
{
	mqd_t *fd = arg;
	fd_set set[3];
	long r;

	for (int i = 0; i < 3; i++) {
		FD_ZERO(&set[i]);
		if (fd[i] >= 0)
			FD_SET(fd[i], &set[i]);
	}
	r = select(FD_SETSIZE, &set[0], &set[1], &set[2], NULL);
	for (int i = 0; i < 3; i++)
		fd[i] = fd[i] >= 0 && FD_ISSET(fd[i], &set[i]);
	return r;
}

static long receives(void *arg)
{
	char c;

	return mq_receive(*(mqd_t *)arg, &c, 1, NULL);
}

static long sends(void *arg)
{
	return mq_send(*(mqd_t *)arg, "x", 1, 0);
}

/* By either number, and all who look. */
static void *told(void *arg)
{
	struct ask in = asks(q, POLLIN | POLLRDNORM | POLLPRI, -1);
	struct ask out = asks(again, POLLOUT | POLLWRBAND, -1), both;
	mqd_t sets[3] = { again, -1, q }, room[3] = { -1, q, again };
	struct t_call a, b;

	t_begin(&a, polls, &in);
	t_begin(&b, selects, sets);
	put();
	shown("a message", &a, &in);
	t_ended("select", &b);
	t_say("    %d %d", sets[0], sets[2]);
	put();
	t_begin(&a, polls, &out);
	t_begin(&b, selects, room);
	take();
	shown("room", &a, &out);
	t_ended("select", &b);
	t_say("    %d %d", room[1], room[2]);
	both = asks(q, POLLIN | POLLOUT, -1);
	t_begin(&a, polls, &both);
	shown("both", &a, &both);
	take();
	return arg;
}

/* Who waits for a message gets it: there is none for who looks. So with room. */
static void *beside(void *arg)
{
	struct ask in = asks(q, POLLIN, -1), out = asks(q, POLLOUT, -1);
	struct t_call look, wait;

	for (int i = 0; i < 3; i++) {
		t_begin(&look, polls, &in);
		t_begin(&wait, receives, &again);
		put();
		t_ended("received", &wait);
		t_waits(&look);
		is(0);
		put();
		shown("the next one", &look, &in);
		put();
		t_begin(&look, polls, &out);
		t_begin(&wait, sends, &again);
		take();
		t_ended("sent", &wait);
		t_waits(&look);
		is(2);
		take();
		shown("the next one", &look, &out);
		take();
	}
	return arg;
}

/* Another process sends and receives; a pipe beside the queue. */
static void *others(void *arg)
{
	struct ask in = asks(q, POLLIN, -1), out = asks(q, POLLOUT, -1);
	struct t_call c;
	int ask[2], pipes[2];
	pid_t pid;
	char what;

	t_pipe(ask);
	t_pipe(pipes);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		t_close(ask[1]);
		while (read(ask[0], &what, 1) == 1)
			if (what == 'p')
				put();
			else
				take();
		_exit(0);
	}
	in.p[1] = out.p[1] = (struct pollfd){ pipes[0], POLLIN, 0 };
	in.n = out.n = 2;
	t_begin(&c, polls, &in);
	t_put(ask[1], 'p');
	shown("a message", &c, &in);
	put();
	t_begin(&c, polls, &out);
	t_put(ask[1], 't');
	shown("room", &c, &out);
	take();
	t_begin(&c, polls, &in);
	t_put(pipes[1], 'x');
	shown("the pipe", &c, &in);
	t_close(ask[1]);
	t_wait_ok(pid);
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Time, a signal, a cancel; what the text of the queue says is no message. */
static void *limits(void *arg)
{
	struct ask in = asks(q, POLLIN, 100), ever = asks(q, POLLIN, -1);
	long long began = t_now();
	struct t_call c;
	char text[256];
	void *end;

	t_begin(&c, polls, &in);
	shown("in time", &c, &in);
	T_TOOK(began, 100 * T_MS);
	t_handle(SIGUSR1, on_signal, SA_RESTART);
	t_begin(&c, polls, &ever);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("a signal", &c);
	t_begin(&c, polls, &ever);
	CHECK(pread(q, text, sizeof(text), 0) > 0);
	CHECK_ERR(write(q, "x", 1), EINVAL);
	t_waits(&c);
	CHECK_0(pthread_cancel(c.th));
	CHECK_0(pthread_join(c.th, &end));
	CHECK(end == PTHREAD_CANCELED);
	t_say("cancelled");
	return arg;
}

/* The number is closed under who looks; and another file has it. */
static void *closed(void *arg)
{
	struct ask in = asks(again, POLLIN, 20000);
	struct t_call c;
	int p[2];

	t_begin(&c, polls, &in);
	CHECK_0(mq_close(again));
	t_waits(&c);
	put();
	shown("closed", &c, &in);
	take();
	again = dup(q);
	in.p[0].fd = again;
	t_begin(&c, polls, &in);
	t_pipe(p);
	CHECK(dup2(p[0], again) == again);
	t_put(p[1], 'x');
	t_waits(&c);
	put();
	shown("replaced", &c, &in);
	take();
	return arg;
}

enum { TURNS = 300 };

static mqd_t back;

static void *answers(void *arg)
{
	struct pollfd p = { q, POLLIN, 0 };

	for (int i = 0; i < TURNS; i++) {
		CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
		take();
		CHECK_0(mq_send(back, "y", 1, 0));
	}
	return arg;
}

/* Two threads take turns by two queues, and look before they receive. */
static void *turns(void *arg)
{
	struct pollfd p = { 0, POLLIN, 0 };
	pthread_t t;
	char c;

	CHECK_0(mq_close(q));
	back = again;
	make();
	p.fd = back;
	t = t_thread(answers, NULL);
	for (int i = 0; i < TURNS; i++) {
		put();
		CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
		CHECK(mq_receive(back, &c, 1, NULL) == 1);
	}
	t_join(t);
	t_say("%d turns", TURNS);
	return arg;
}

enum { SENDERS = 4, EACH = 250 };

static int received;

/* Not to wait: whoever looks may find that another one was faster. */
static void *looks(void *arg)
{
	struct pollfd p = { *(mqd_t *)arg, POLLIN, 0 };
	char c;

	while (__atomic_load_n(&received, __ATOMIC_SEQ_CST) < SENDERS * EACH) {
		CHECK(poll(&p, 1, -1) == 1);
		if (mq_receive(p.fd, &c, 1, NULL) < 0) {
			CHECK(errno == EAGAIN);
		} else if (c == 'x') {
			__atomic_add_fetch(&received, 1, __ATOMIC_SEQ_CST);
		} else {
			/* It is for all. */
			CHECK_0(mq_send(p.fd, "e", 1, 0));
			break;
		}
	}
	return arg;
}

static void *fills(void *arg)
{
	struct pollfd p = { *(mqd_t *)arg, POLLOUT, 0 };

	for (int i = 0; i < EACH;) {
		CHECK(poll(&p, 1, -1) == 1);
		if (mq_send(p.fd, "x", 1, 0) == 0)
			i++;
		else
			CHECK(errno == EAGAIN);
	}
	return arg;
}

/* Several on either side, by two descriptions. None is left behind. */
static void *storm(void *arg)
{
	struct mq_attr hasty = { .mq_flags = O_NONBLOCK };
	pthread_t in[SENDERS], out[SENDERS];

	CHECK_0(mq_setattr(q, &hasty, NULL));
	CHECK_0(mq_setattr(again, &hasty, NULL));
	for (int i = 0; i < SENDERS; i++) {
		in[i] = t_thread(looks, i % 2 ? &q : &again);
		out[i] = t_thread(fills, i % 2 ? &again : &q);
	}
	for (int i = 0; i < SENDERS; i++)
		t_join(out[i]);
	while (__atomic_load_n(&received, __ATOMIC_SEQ_CST) < SENDERS * EACH)
		t_settle();
	/* Those who look still are told of the end. */
	CHECK_0(mq_send(q, "e", 1, 0));
	for (int i = 0; i < SENDERS; i++)
		t_join(in[i]);
	t_say("%d received", received);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "told", told },     { "beside", beside },
		{ "others", others }, { "limits", limits },
		{ "closed", closed }, { "turns", turns },
		{ "storm", storm },
	};

	CHECK(argc == 2);
	make();
	t_run_case(cases, T_LEN(cases), argv[1]);
	return 0;
}
