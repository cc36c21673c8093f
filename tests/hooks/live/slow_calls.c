/*
 * Many threads, one after the other, begin to wait in a call of which nobody knows
 * beforehand that it waits. The first of them is found out by a tick of the clock, 10
 * ms; if that were so of each, the last one would begin 3 s after the first.
 *
 * t-case: semop
 * t-case: msgrcv
 * t-case: open
 * t-case: open_raw
 * t-case: close
 * t-case: eventfd
 */
#include "t.h"
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

enum { N = 300, LIMIT_MS = N * 10 / 2 };

struct slow {
	const char *name;
	void (*setup)(void);
	void (*call)(void);
	void (*feed)(void);
};

static const struct slow *the;
static char path[PATH_MAX];
static int id, begun;

static void setup_sem(void)
{
	id = semget(IPC_PRIVATE, 1, 0600);
	CHECK(id >= 0);
}

static void call_sem(void)
{
	CHECK(semop(id, &(struct sembuf){ 0, -1, 0 }, 1) == 0);
}

static void feed_sem(void)
{
	CHECK(semop(id, &(struct sembuf){ 0, N, 0 }, 1) == 0);
}

static void setup_msg(void)
{
	id = msgget(IPC_PRIVATE, 0600);
	CHECK(id >= 0);
}

static void call_msg(void)
{
	struct {
		long type;
		char text;
	} m;

	CHECK(msgrcv(id, &m, 1, 0, 0) == 1);
}

static void feed_msg(void)
{
	struct {
		long type;
		char text;
	} m = { 1, 'x' };

	for (int i = 0; i < N; i++)
		CHECK(msgsnd(id, &m, 1, 0) == 0);
}

static void setup_fifo(void)
{
	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
}

/* For writing: who opens it for reading is known to wait, after the first. */
static void call_open(void)
{
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0);
	t_close(fd);
}

/* The call that libc does not make any more. */
static void call_open_raw(void)
{
	int fd = (int)syscall(SYS_open, path, O_WRONLY, 0);

	CHECK(fd >= 0);
	t_close(fd);
}

static void feed_open(void)
{
	id = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(id >= 0);
}

/* With SO_LINGER it waits until the other side has read what was sent. */
static int near[N], far[N];

static void setup_close(void)
{
	struct linger on = { 1, 100 };
	int port, small = 4096, listener = t_bound(SOCK_STREAM, &port);
	char b[4096] = { 0 };

	CHECK(!setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small,
			  sizeof(small)));
	CHECK(listen(listener, 5) == 0);
	for (int i = 0; i < N; i++) {
		near[i] = t_connect(port);
		far[i] = accept(listener, NULL, NULL);
		CHECK(far[i] >= 0);
		CHECK(!setsockopt(near[i], SOL_SOCKET, SO_SNDBUF, &small,
				  sizeof(small)));
		CHECK(!setsockopt(near[i], SOL_SOCKET, SO_LINGER, &on,
				  sizeof(on)));
		while (send(near[i], b, sizeof(b), MSG_DONTWAIT) > 0)
			;
	}
	t_close(listener);
}

static void call_close(void)
{
	static int next;

	t_close(near[__atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST)]);
}

static void feed_close(void)
{
	char b[4096];

	for (int i = 0; i < N; i++) {
		while (recv(far[i], b, sizeof(b), 0) > 0)
			;
		t_close(far[i]);
	}
}

/* One that is full: there is room for others when it has been read. */
static void setup_eventfd(void)
{
	id = eventfd(0, 0);
	CHECK(id >= 0);
	CHECK(eventfd_write(id, UINT64_MAX - 1) == 0);
}

static void call_eventfd(void)
{
	CHECK(eventfd_write(id, 1) == 0);
}

static void feed_eventfd(void)
{
	eventfd_t v;

	CHECK(eventfd_read(id, &v) == 0);
}

static const struct slow calls[] = {
	{ "semop", setup_sem, call_sem, feed_sem },
	{ "msgrcv", setup_msg, call_msg, feed_msg },
	{ "open", setup_fifo, call_open, feed_open },
	{ "open_raw", setup_fifo, call_open_raw, feed_open },
	{ "close", setup_close, call_close, feed_close },
	{ "eventfd", setup_eventfd, call_eventfd, feed_eventfd },
};

static void *waits(void *arg)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
	the->call();
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t th[N];
	long long from;

	CHECK(argc == 2);
	for (size_t i = 0; i < T_LEN(calls); i++)
		if (!strcmp(calls[i].name, argv[1]))
			the = &calls[i];
	CHECK(the);
	the->setup();
	from = t_now();
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(waits, NULL);
	while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < N)
		sched_yield();
	CHECK(t_now() - from < (long long)LIMIT_MS * T_MS);
	the->feed();
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	if (the->call == call_sem)
		CHECK(semctl(id, 0, IPC_RMID) == 0);
	if (the->call == call_msg)
		CHECK(msgctl(id, IPC_RMID, NULL) == 0);
	t_say("%s: %d have waited", the->name, N);
	return 0;
}
