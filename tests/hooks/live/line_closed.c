/*
 * Threads that wait for the same thing, and their numbers are closed meanwhile,
 * and used anew: each goes on with its file, the first as well as those behind it. But
 * the process's locks are given back then, and the call fails: fcntl_setlk() of
 * fs/locks.c.
 *
 * t-case: connect
 * t-case: datagram
 * t-case: datagram_peer
 * t-case: flock
 * t-case: fcntl
 * t-case: process
 * t-case: mq_receive
 * t-case: mq_send
 */
#include "t.h"
#include <mqueue.h>
#include <stdbool.h>
#include <sys/file.h>

enum { N = 4, ATTEMPTS = 30 };

static struct sockaddr_un at;
static char queue[32];
static int target, path, fd[N], over, given;

static int make_stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int make_datagram(void)
{
	return socket(AF_UNIX, SOCK_DGRAM, 0);
}

static int make_connected(void)
{
	int s = make_datagram();

	CHECK(connect(s, (struct sockaddr *)&at, sizeof(at)) == 0);
	return s;
}

static int make_file(void)
{
	return open("./line_file", O_RDWR | O_CREAT, 0600);
}

static int make_queue(void)
{
	return mq_open(queue, O_RDWR);
}

static int by_connect(int i)
{
	return connect(fd[i], (struct sockaddr *)&at, sizeof(at));
}

static int by_datagram(int i)
{
	return (int)sendto(fd[i], "x", 1, 0, (struct sockaddr *)&at,
			   sizeof(at)) -
	       1;
}

static int by_connected(int i)
{
	return (int)send(fd[i], "x", 1, 0) - 1;
}

static int by_flock(int i)
{
	return flock(fd[i], LOCK_EX);
}

static int by_fcntl(int i)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd[i], F_OFD_SETLKW, &l);
}

static int by_process(int i)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd[i], F_SETLKW, &l);
}

static int by_receive(int i)
{
	char c;

	return (int)mq_receive(fd[i], &c, 1, NULL) - 1;
}

static int by_send(int i)
{
	return mq_send(fd[i], "x", 1, 0);
}

/* One of those that wait may go on; false: there is none yet. */
static bool take_connection(void)
{
	struct pollfd p = { .fd = target, .events = POLLIN };

	if (poll(&p, 1, 1) != 1)
		return false;
	t_close(accept(target, NULL, NULL));
	return true;
}

static bool take_datagram(void)
{
	char c;

	return recv(target, &c, 1, MSG_DONTWAIT) == 1;
}

static bool take_flock(void)
{
	return flock(target, LOCK_UN) == 0;
}

static bool take_fcntl(void)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	return fcntl(target, F_OFD_SETLK, &l) == 0;
}

/* The other process ends, and its lock with it. */
static bool take_process(void)
{
	if (target >= 0)
		t_close(target);
	target = -1;
	return true;
}

/* At most one for each: what is left in the queue is for nobody. */
static bool take_message(void)
{
	return given < N && mq_send(target, "x", 1, 0) == 0 && ++given;
}

static bool take_room(void)
{
	char c;

	return given < N && mq_receive(target, &c, 1, NULL) == 1 && ++given;
}

static void bind_target(int s)
{
	target = s;
	unlink(at.sun_path);
	CHECK(bind(target, (struct sockaddr *)&at, sizeof(at)) == 0);
}

static void fill_listener(void)
{
	int s = make_stream();

	bind_target(make_stream());
	CHECK(listen(target, 0) == 0);
	CHECK(connect(s, (struct sockaddr *)&at, sizeof(at)) == 0);
	t_close(s);
}

static void fill_receiver(void)
{
	int s = make_datagram();

	bind_target(make_datagram());
	while (sendto(s, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      sizeof(at)) == 1)
		;
	CHECK(errno == EAGAIN);
	t_close(s);
}

static void hold_lock(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	target = make_file();
	CHECK(flock(target, LOCK_EX) == 0);
	CHECK(fcntl(target, F_OFD_SETLK, &l) == 0);
}

static void other_locks(void)
{
	int said[2], ends[2];
	char c;

	CHECK(pipe(said) == 0 && pipe(ends) == 0);
	if (fork() == 0) {
		struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

		t_close(ends[1]);
		CHECK(fcntl(make_file(), F_SETLK, &l) == 0);
		CHECK(write(said[1], "x", 1) == 1);
		_exit(read(ends[0], &c, 1) != 0);
	}
	CHECK(read(said[0], &c, 1) == 1);
	t_close(said[0]);
	t_close(said[1]);
	t_close(ends[0]);
	target = ends[1];
}

static void make_empty(void)
{
	struct mq_attr attr = { .mq_maxmsg = N, .mq_msgsize = 1 };

	mq_unlink(queue); /* what the attempt before has left */
	target = mq_open(queue, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attr);
	CHECK(target >= 0);
}

static void make_full(void)
{
	make_empty();
	while (mq_send(target, "x", 1, 0) == 0)
		;
	CHECK(errno == EAGAIN);
}

static const struct how {
	const char *name;
	void (*fill)(void); /* makes the target */
	int (*make)(void);
	int (*call)(int i);
	bool (*take)(void);
	int err; /* that they end with */
} hows[] = {
	{ "connect", fill_listener, make_stream, by_connect, take_connection,
	  0 },
	{ "datagram", fill_receiver, make_datagram, by_datagram, take_datagram,
	  0 },
	{ "datagram_peer", fill_receiver, make_connected, by_connected,
	  take_datagram, 0 },
	{ "flock", hold_lock, make_file, by_flock, take_flock, 0 },
	{ "fcntl", hold_lock, make_file, by_fcntl, take_fcntl, 0 },
	{ "process", other_locks, make_file, by_process, take_process, EBADF },
	{ "mq_receive", make_empty, make_queue, by_receive, take_message, 0 },
	{ "mq_send", make_full, make_queue, by_send, take_room, 0 },
};

struct one {
	const struct how *how;
	int i, err;
};

static void *waits(void *arg)
{
	struct one *o = arg;

	o->err = o->how->call(o->i) == 0 ? 0 : errno;
	__atomic_add_fetch(&over, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Has each gone on? One that had not begun to wait finds its number closed. */
static bool attempt(const struct how *how)
{
	struct one o[N];
	pthread_t th[N];
	bool all = true;

	how->fill();
	over = given = 0;
	for (int i = 0; i < N; i++) {
		o[i] = (struct one){ how, i, 0 };
		fd[i] = how->make();
		CHECK(fd[i] >= 0);
		th[i] = t_begun(waits, &o[i]);
		t_settle();
	}
	for (int i = 0; i < N; i++)
		CHECK(i % 2 ? dup2(path, fd[i]) == fd[i] : close(fd[i]) == 0);
	while (__atomic_load_n(&over, __ATOMIC_SEQ_CST) < N)
		if (!how->take())
			sched_yield();
	for (int i = 0; i < N; i++) {
		t_join(th[i]);
		if (i % 2)
			t_close(fd[i]);
		CHECK(o[i].err == 0 || o[i].err == EBADF);
		all = all && o[i].err == how->err;
	}
	if (target >= 0)
		t_close(target);
	while (wait(NULL) > 0)
		;
	return all;
}

int main(int argc, char **argv)
{
	at.sun_family = AF_UNIX;
	path = open(".", O_PATH); /* EBADF to every call here */
	strcpy(at.sun_path, "./line");
	snprintf(queue, sizeof(queue), "/line_closed.%d", (int)getpid());
	for (size_t i = 0; i < T_LEN(hows); i++) {
		bool all = false;

		if (argc > 1 && strcmp(argv[1], hows[i].name) != 0)
			continue;
		for (int k = 0; k < ATTEMPTS && !all; k++)
			all = attempt(&hows[i]);
		CHECK(all);
		t_say("%s: all %s", hows[i].name,
		      hows[i].err ? "fail" : "go on");
	}
	mq_unlink(queue);
	return 0;
}
