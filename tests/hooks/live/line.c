/*
 * Threads that wait for the same thing: a signal ends the wait of one of them, or
 * does not, the first or another; a time limit does; a cancel does; and whoever is
 * left is served, in the order they came where the kernel keeps one.
 */
#include "t.h"
#include <mqueue.h>
#include <sys/file.h>

enum { N = 4 };

static mqd_t queue;
static int handled, served;
static char path[PATH_MAX], order[N + 1];
static struct sockaddr_un at;
static int listener;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static int lock_file(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0);
	return fd;
}

/* --- calls, and what they wait for ----------------------------------------- */

static int by_receive(void)
{
	char c;

	return (int)mq_receive(queue, &c, 1, NULL);
}

static void give_message(void)
{
	CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static int by_flock(void)
{
	int fd = lock_file(), r = flock(fd, LOCK_EX), err = errno;

	t_close(fd);
	errno = err;
	return r;
}

static int held = -1;

static void hold_lock(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	held = lock_file();
	CHECK(flock(held, LOCK_EX) == 0);
	CHECK(fcntl(held, F_OFD_SETLK, &l) == 0);
}

static void give_lock(void)
{
	if (held >= 0)
		t_close(held);
	held = -1;
}

static int by_ofd(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = lock_file(), r = fcntl(fd, F_OFD_SETLKW, &l), err = errno;

	t_close(fd);
	errno = err;
	return r;
}

static void fill_listener(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	at.sun_family = AF_UNIX;
	snprintf(at.sun_path, sizeof(at.sun_path), "./line");
	unlink(at.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listen(listener, 0) == 0);
	CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	t_close(fd);
}

static int by_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int r = connect(fd, (struct sockaddr *)&at, sizeof(at)), err = errno;

	t_close(fd);
	errno = err;
	return r;
}

static void give_place(void)
{
	int fd = accept(listener, NULL, NULL);

	CHECK(fd >= 0);
	t_close(fd);
}

static void close_listener(void)
{
	t_close(listener);
}

static void nothing(void)
{
}

static const struct wait {
	const char *name;
	void (*setup)(void);
	int (*call)(void);
	void (*give)(void); /* to one of them, or to all in turn */
	void (*end)(void);
} waits[] = {
	{ "mq_receive", nothing, by_receive, give_message, nothing },
	{ "flock", hold_lock, by_flock, give_lock, nothing },
	{ "fcntl", hold_lock, by_ofd, give_lock, nothing },
	{ "connect", fill_listener, by_connect, give_place, close_listener },
};

struct one {
	const struct wait *w;
	pthread_t th;
	int r, err, over;
};

static void *waiter(void *arg)
{
	struct one *o = arg;

	o->r = o->w->call();
	o->err = errno;
	__atomic_add_fetch(&served, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&o->over, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void start(struct one *o, const struct wait *w)
{
	w->setup();
	served = 0;
	for (int i = 0; i < N; i++) {
		o[i] = (struct one){ .w = w };
		o[i].th = t_thread(waiter, &o[i]);
		t_settle();
	}
}

/* Which is interrupted; the others are served. */
static void interrupted(const struct wait *w, int which)
{
	struct one o[N];

	t_handle(SIGUSR1, on_usr1, 0);
	start(o, w);
	while (!__atomic_load_n(&o[which].over, __ATOMIC_SEQ_CST)) {
		CHECK_0(pthread_kill(o[which].th, SIGUSR1));
		t_settle();
	}
	t_join(o[which].th);
	CHECK(o[which].r == -1 && o[which].err == EINTR);
	CHECK(__atomic_load_n(&served, __ATOMIC_SEQ_CST) == 1);
	for (int i = 0; i < N - 1; i++)
		w->give();
	for (int i = 0; i < N; i++)
		if (i != which) {
			t_join(o[i].th);
			CHECK(o[i].r >= 0);
		}
	w->end();
	t_say("%s: number %d is interrupted, the others are served", w->name,
	      which);
}

static void restarted(const struct wait *w)
{
	struct one o[N];

	t_handle(SIGUSR1, on_usr1, SA_RESTART);
	start(o, w);
	for (int i = 0; i < N; i++) {
		int before = __atomic_load_n(&handled, __ATOMIC_SEQ_CST);

		CHECK_0(pthread_kill(o[i].th, SIGUSR1));
		while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == before)
			sched_yield();
	}
	t_settle();
	CHECK(__atomic_load_n(&served, __ATOMIC_SEQ_CST) == 0);
	for (int i = 0; i < N; i++)
		w->give();
	for (int i = 0; i < N; i++) {
		t_join(o[i].th);
		CHECK(o[i].r >= 0);
	}
	w->end();
	t_say("%s: all go on after a signal", w->name);
}

/* --- time limits, cancels, order ------------------------------------------- */

static void *timed(void *arg)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 50 * T_MS);
	long long t0 = t_now();
	char c;

	CHECK_ERR(mq_timedreceive(queue, &c, 1, NULL, &ts), ETIMEDOUT);
	T_TOOK(t0, 49 * T_MS);
	return arg;
}

static void limits(void)
{
	struct timespec bad = { 0, -1 };
	pthread_t th[N], first;
	struct one o = { .w = &waits[0] };
	char c;

	first = t_thread(waiter, &o);
	t_settle();
	for (int i = 0; i < N; i++)
		th[i] = t_thread(timed, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_ERR(mq_timedreceive(queue, &c, 1, NULL, &bad), EINVAL);
	CHECK_ERR(mq_receive(queue, &c, 0, NULL), EMSGSIZE);
	CHECK_ERR(mq_receive(-1, &c, 1, NULL), EBADF);
	give_message();
	t_join(first);
	CHECK(o.r == 1);
	t_say("time limits");
}

static void canceled(int which)
{
	pthread_t th[N];
	struct one o[N];
	int left = 0;

	for (int i = 0; i < N; i++) {
		o[i] = (struct one){ .w = &waits[0] };
		th[i] = t_thread(waiter, &o[i]);
		t_settle();
	}
	CHECK_0(pthread_cancel(th[which]));
	CHECK(t_join(th[which]) == PTHREAD_CANCELED);
	for (int i = 0; i < N - 1; i++)
		give_message();
	for (int i = 0; i < N; i++)
		if (i != which) {
			t_join(th[i]);
			left += o[i].r;
		}
	CHECK(left == N - 1);
	t_say("number %d is canceled, the others are served", which);
}

static void *in_order(void *arg)
{
	char c;

	CHECK(mq_receive(queue, &c, 1, NULL) == 1);
	order[c - '0'] = (char)('0' + (intptr_t)arg);
	return arg;
}

/* One that came late is not in order: then once more. */
static void in_turn(void)
{
	pthread_t th[N];
	int seen = 0;

	for (int turn = 0; turn < 30 && seen < 3; turn++) {
		for (int i = 0; i < N; i++) {
			th[i] = t_begun(in_order, (void *)(intptr_t)i);
			t_settle();
		}
		for (int i = 0; i < N; i++) {
			char c = (char)('0' + i);

			CHECK(mq_send(queue, &c, 1, 0) == 0);
		}
		for (int i = 0; i < N; i++)
			t_join(th[i]);
		seen += strcmp(order, "0123") == 0;
	}
	CHECK(seen == 3);
	t_say("first come, first served");
}

/* Was it as it is to be: nobody is told of a message that somebody waits for? */
static int quiet(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	struct one o = { .w = &waits[0] };
	pthread_t th;

	handled = 0;
	th = t_begun(waiter, &o);
	for (int i = 0; i < 10; i++)
		t_settle(); /* it is to be blocked */
	CHECK(mq_notify(queue, &ev) == 0);
	give_message();
	t_join(th);
	if (handled)
		return 0;
	give_message();
	while (!__atomic_load_n(&handled, __ATOMIC_SEQ_CST))
		sched_yield();
	CHECK(by_receive() == 1);
	return 1;
}

/* One that came late did not wait yet: then once more. */
static void notified(void)
{
	int seen = 0;

	t_handle(SIGUSR1, on_usr1, SA_RESTART);
	for (int turn = 0; turn < 30 && seen < 3; turn++)
		seen += quiet();
	CHECK(seen == 3);
	t_say("notified of what nobody waits for");
}

int main(void)
{
	struct mq_attr a = { .mq_maxmsg = 10, .mq_msgsize = 1 };
	char name[32];

	snprintf(path, sizeof(path), "%s/lock", getenv("T_TMP"));
	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
	if (queue == (mqd_t)-1 && errno == ENOSYS)
		t_skip("the kernel has no message queues");
	CHECK(queue != (mqd_t)-1);
	CHECK(mq_unlink(name) == 0);
	for (size_t i = 0; i < T_LEN(waits); i++) {
		interrupted(&waits[i], 0);
		interrupted(&waits[i], 2);
		restarted(&waits[i]);
	}
	limits();
	canceled(0);
	canceled(2);
	in_turn();
	notified();
	return 0;
}
