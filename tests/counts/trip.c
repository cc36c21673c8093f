/*
 * Round trips between pairs of threads, for counting their system calls: count.py.
 *
 *	trip KIND HOW PAIRS ROUNDS
 *
 * KIND: pipe, fifo, pair (AF_UNIX), dgram (the same), local (a connection of that family),
 * tcp, udp, event (two eventfds), queue (two POSIX message queues), pty (in raw mode; who
 * is first has the master's side). HOW: see how[]. Of a call that is made for each
 * connection, and not for each trip, nothing is left when two runs that differ in ROUNDS
 * alone are subtracted.
 */
#include <stdbool.h>
#include "t.h"
#include <mqueue.h>
#include <poll.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <sys/un.h>

enum {
	PLAIN,
	EARLY,	     /* the descriptors are older than the first thread */
	DUPED,	     /* both ends are used by two numbers each */
	DUPED_WHOLE, /* and WHOLE */
	STDIO, /* fdopen of the number and of a duplicate, as servers do */
	TIMED, /* SO_RCVTIMEO, of a minute */
	GONE,  /* after a fork; the child has ended */
	ALIVE, /* after a fork; the child lives on, and has all descriptors */
	FLAGS, /* O_NONBLOCK of some other descriptor changes all the time */
	EARLY_FLAGS, /* the same, of one as old as these */
	WHOLE,	     /* each read asks for what was written, and no more */
	WAITALL,     /* so it does, by recv() with MSG_WAITALL */
	HEAD,	     /* the same in two, as a record with a head is read */
	VECTOR,	     /* readv() */
	MESSAGE,     /* recvmsg() */
	POLL,	     /* poll(), and then read() */
	SELECT,	     /* the same with a limit */
	GLANCE, /* recv() with MSG_DONTWAIT, and poll() when there is nothing */
	PRIO,	/* mq_receive() */
	RECORD, /* as a head and what follows, by two reads */
	POLL_RECORD, /* poll(), and then these */
	HANDLED,     /* as ALIVE, and there is a handler for a signal */
	FORKED, /* each thread has had a child, and so has a kernel thread */
	NICE,	/* so it has, by its nice value */
	ONE_FORKED, /* one of the two has had a child */
	ONE_NICE,   /* one of the two is nice */
	NOW,	    /* O_NONBLOCK, and POLL */
	NOW_RECORD, /* O_NONBLOCK, and POLL_RECORD */
	CONTROL,    /* MESSAGE, with room for a control message */
	PEEK,	    /* recv() with MSG_PEEK, and then read() */
};
static const char *const how_name[] = {
	"plain",       "early",	  "duped",  "duped_whole", "stdio",
	"timed",       "gone",	  "alive",  "flags",	   "early_flags",
	"whole",       "waitall", "head",   "vector",	   "message",
	"poll",	       "select",  "glance", "prio",	   "record",
	"poll_record", "handled", "forked", "nice",	   "one_forked",
	"one_nice",    "now",	  "now_record", "control", "peek",
};

static int how;
static long rounds;
static int other[2];
static pthread_barrier_t ready;

struct end {
	int in, out;
	bool first;
};

static void change_other(long i)
{
	if ((how == FLAGS || how == EARLY_FLAGS) && i % 8 == 0)
		CHECK(fcntl(other[0], F_SETFL, i % 16 ? O_NONBLOCK : 0) == 0);
}

static size_t size = 63;

static ssize_t receive_message(int fd, struct iovec *v)
{
	char room[CMSG_SPACE(sizeof(int))];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 1 };

	if (how == CONTROL) {
		m.msg_control = room;
		m.msg_controllen = sizeof(room);
	}
	return recvmsg(fd, &m, 0);
}

static void await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timeval minute = { 60, 0 };
	fd_set set;

	if (how != SELECT) {
		CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
		return;
	}
	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK(select(fd + 1, &set, NULL, NULL, &minute) == 1);
}

static ssize_t receive(int fd, char *buf, size_t most)
{
	struct iovec v = { buf, most };
	ssize_t n;

	switch (how) {
	case WHOLE:
	case DUPED_WHOLE:
		return read(fd, buf, size);
	case WAITALL:
		return recv(fd, buf, size, MSG_WAITALL);
	case HEAD:
		CHECK(recv(fd, buf, 4, MSG_WAITALL) == 4);
		return 4 + recv(fd, buf, size - 4, MSG_WAITALL);
	case VECTOR:
		return readv(fd, &v, 1);
	case MESSAGE:
	case CONTROL:
		return receive_message(fd, &v);
	case PRIO:
		return mq_receive(fd, buf, most, NULL);
	case GLANCE:
		while ((n = recv(fd, buf, most, MSG_DONTWAIT)) < 0) {
			CHECK(errno == EAGAIN);
			await(fd);
		}
		return n;
	case PEEK:
		CHECK(recv(fd, buf, 1, MSG_PEEK) == 1);
		return read(fd, buf, most);
	case POLL:
	case SELECT:
	case NOW:
		await(fd);
		return read(fd, buf, most);
	case POLL_RECORD:
	case NOW_RECORD:
		await(fd);
		/* fall through */
	case RECORD:
		CHECK(read(fd, buf, 4) == 4);
		return 4 + read(fd, buf, size - 4);
	default:
		return read(fd, buf, most);
	}
}

static void once(int fd, bool send)
{
	static const char message[63] = { 1 };
	char buf[256];

	if (send && how == PRIO)
		CHECK_0(mq_send(fd, message, size, 0));
	else if (send)
		CHECK(write(fd, message, size) == (ssize_t)size);
	else
		CHECK(receive(fd, buf, sizeof(buf)) == (ssize_t)size);
}

static void by_number(const struct end *e)
{
	for (long i = 0; i < rounds; i++) {
		once(e->first ? e->out : e->in, e->first);
		if (e->first)
			change_other(i);
		once(e->first ? e->in : e->out, !e->first);
	}
}

static void line(FILE *in, FILE *out, bool send)
{
	char buf[256];

	if (send)
		CHECK(fprintf(out, "%062d\n", 1) == 63 && !fflush(out));
	else
		CHECK(fgets(buf, sizeof(buf), in) && strlen(buf) == 63);
}

static void by_stdio(const struct end *e)
{
	FILE *in = fdopen(e->in, "r"), *out = fdopen(dup(e->out), "w");

	CHECK(in && out);
	for (long i = 0; i < rounds; i++) {
		line(in, out, e->first);
		line(in, out, !e->first);
	}
}

static void *run(void *arg)
{
	const struct end *e = arg;
	pid_t pid;

	if (how == FORKED || (how == ONE_FORKED && e->first)) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			_exit(0);
		t_wait_ok(pid);
	}
	if (how == NICE || (how == ONE_NICE && e->first))
		CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
	if (how == NOW || how == NOW_RECORD)
		CHECK_0(fcntl(e->in, F_SETFL, O_NONBLOCK));
	pthread_barrier_wait(&ready);
	if (how == STDIO)
		by_stdio(e);
	else
		by_number(e);
	return arg;
}

static void duplicate(struct end *e)
{
	e->in = dup(e->in);
	e->out = dup(e->out);
	CHECK(e->in >= 0 && e->out >= 0);
}

static mqd_t queue(void)
{
	struct mq_attr at = { .mq_maxmsg = 2, .mq_msgsize = 64 };
	char name[32];
	mqd_t q;

	snprintf(name, sizeof(name), "/trip-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &at);
	CHECK(q != (mqd_t)-1);
	CHECK_0(mq_unlink(name));
	return q;
}

/* As by a name: both ends of a pipe, opened anew. */
static void fifo(int p[2])
{
	int made[2];

	t_pipe(made);
	for (int i = 0; i < 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", made[i]);
		p[i] = open(name, i ? O_WRONLY : O_RDONLY);
		CHECK(p[i] >= 0);
	}
	t_close(made[0]);
	t_close(made[1]);
}

static void terminal(int p[2])
{
	struct termios t;

	CHECK_0(openpty(&p[0], &p[1], NULL, NULL, NULL));
	CHECK_0(tcgetattr(p[1], &t));
	cfmakeraw(&t);
	CHECK_0(tcsetattr(p[1], TCSANOW, &t));
}

/* A connection by a name that is no file's. */
static void local(int p[2])
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(a.sun_family);
	int l = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_0(bind(l, (struct sockaddr *)&a, len));
	len = sizeof(a);
	CHECK_0(getsockname(l, (struct sockaddr *)&a, &len));
	CHECK_0(listen(l, 1));
	p[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_0(connect(p[0], (struct sockaddr *)&a, len));
	p[1] = accept(l, NULL, NULL);
	CHECK(p[1] >= 0);
	t_close(l);
}

static void connect_ends(const char *kind, struct end e[2])
{
	int a[2], b[2];

	if (!strcmp(kind, "pipe") || !strcmp(kind, "fifo")) {
		void (*make)(int[2]) = *kind == 'p' ? t_pipe : fifo;

		make(a);
		make(b);
		e[0] = (struct end){ a[0], b[1], true };
		e[1] = (struct end){ b[0], a[1], false };
		return;
	}
	if (!strcmp(kind, "event")) {
		size = sizeof(eventfd_t);
		e[0] = (struct end){ eventfd(0, 0), eventfd(0, 0), true };
		e[1] = (struct end){ e[0].out, e[0].in, false };
		return;
	}
	if (!strcmp(kind, "queue")) {
		e[0] = (struct end){ queue(), queue(), true };
		e[1] = (struct end){ e[0].out, e[0].in, false };
		return;
	}
	if (!strcmp(kind, "pair"))
		t_pair(a);
	else if (!strcmp(kind, "dgram"))
		CHECK_0(socketpair(AF_UNIX, SOCK_DGRAM, 0, a));
	else if (!strcmp(kind, "local"))
		local(a);
	else if (!strcmp(kind, "pty"))
		terminal(a);
	else if (!strcmp(kind, "udp"))
		t_udp_pair(a);
	else
		t_tcp_pair(a);
	e[0] = (struct end){ a[0], a[0], true };
	e[1] = (struct end){ a[1], a[1], false };
	for (int i = 0; i < 2 && how == TIMED; i++) {
		struct timeval tv = { 60, 0 };

		CHECK(!setsockopt(a[i], SOL_SOCKET, SO_RCVTIMEO, &tv,
				  sizeof(tv)));
	}
}

/* It has every descriptor that there is, until @gate says that all is over. */
static pid_t make_child(int gate[2])
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(gate[1]);
		if (how == ALIVE)
			t_eof(gate[0]);
		_exit(0);
	}
	if (how == GONE)
		t_wait_ok(pid);
	return pid;
}

static void on_term(int sig)
{
	_exit(128 + sig);
}

int main(int argc, char **argv)
{
	int pairs = argc == 5 ? atoi(argv[3]) : 0, gate[2];
	struct end *e = calloc((size_t)pairs, 2 * sizeof(*e));
	pthread_t *th = calloc((size_t)pairs, 2 * sizeof(*th));
	pid_t pid = 0;
	bool early;

	CHECK(pairs > 0);
	rounds = atol(argv[4]);
	while (strcmp(how_name[how], argv[2]))
		CHECK(++how < (int)T_LEN(how_name));
	early = how == EARLY || how == EARLY_FLAGS;
	if (!early)
		t_be_threaded();
	if (how == HANDLED)
		CHECK(signal(SIGTERM, on_term) != SIG_ERR);
	t_pipe(other);
	t_pipe(gate);
	/* And main, which creates a thread with its signals blocked. */
	CHECK_0(pthread_barrier_init(&ready, NULL, 2 * (unsigned)pairs + 1));
	for (int i = 0; i < pairs; i++)
		connect_ends(argv[1], &e[2 * i]);
	if (how == GONE || how == ALIVE || how == HANDLED)
		pid = make_child(gate);
	for (int i = 0; i < 2 * pairs; i++) {
		if (how == DUPED || how == DUPED_WHOLE)
			duplicate(&e[i]);
		th[i] = t_small_thread(run, &e[i]);
	}
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 2 * pairs; i++)
		t_join(th[i]);
	t_close(gate[1]);
	if (how == ALIVE || how == HANDLED)
		t_wait_ok(pid);
	return 0;
}
