/*
 * A cancel never acts on a call that has had its effect: what it got is with
 * the thread, or else is still there for another. The news comes, and the cancel
 * at once after it.
 *
 * Until 2.40 glibc's own wrappers lose it now and then, so natively the cancel
 * waits until the news has been taken.
 * t-case: read
 * t-case: recvmmsg
 * t-case: accept
 * t-case: fgetc
 * t-case: msgrcv
 * t-case: mq_receive
 * t-case: sigwait
 * t-case: sem
 * t-case: part_send
 * t-case: part_write
 * t-case: part_recv
 */
#include "t.h"
#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/msg.h>

enum { TURNS = 60, BIG = 1 << 20 };

static const char *what;
static volatile int near_, taken, others;
static volatile long part;
static int p[2], listener, port, msgq;
static mqd_t mq;
static FILE *stream;
static sem_t sem;
static sigset_t usr1;
static char big[BIG], sink[BIG];

#define IS(name) (strcmp(what, name) == 0)
#define PART	 (strncmp(what, "part_", 5) == 0)

struct msg {
	long type;
	char c;
};

/* Blocks; 1 if it has got one. */
static int take(void)
{
	struct iovec v = { sink, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	struct msg s;
	char b[8];
	int sig;

	if (IS("read"))
		return read(p[0], b, 1) == 1;
	if (IS("recvmmsg"))
		return recvmmsg(p[0], &m, 1, 0, NULL) == 1;
	if (IS("accept"))
		return accept(listener, NULL, NULL) >= 0;
	if (IS("fgetc"))
		return fgetc(stream) >= 0;
	if (IS("msgrcv"))
		return msgrcv(msgq, &s, 1, 0, 0) == 1;
	if (IS("mq_receive"))
		return mq_receive(mq, b, 8, NULL) == 1;
	if (IS("sigwait"))
		return sigwait(&usr1, &sig) == 0;
	return sem_wait(&sem) == 0;
}

static void give(void)
{
	struct msg s = { 1, 'x' };

	if (IS("accept"))
		t_connect(port);
	else if (IS("msgrcv"))
		CHECK(msgsnd(msgq, &s, 1, 0) == 0);
	else if (IS("mq_receive"))
		CHECK(mq_send(mq, "x", 1, 0) == 0);
	else if (IS("sigwait"))
		CHECK(kill(getpid(), SIGUSR1) == 0);
	else if (IS("sem"))
		CHECK(sem_post(&sem) == 0);
	else
		t_put(p[1], 'x');
}

/* What is there, without waiting. */
static int left(void)
{
	struct timespec now = { 0, 0 };
	struct msg s;
	char b[8];

	if (IS("accept")) {
		CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
		return accept(listener, NULL, NULL) >= 0;
	}
	if (IS("msgrcv"))
		return msgrcv(msgq, &s, 1, 0, IPC_NOWAIT) == 1;
	if (IS("mq_receive"))
		return mq_timedreceive(mq, b, 8, NULL, &now) == 1;
	if (IS("sigwait"))
		return sigtimedwait(&usr1, NULL, &now) == SIGUSR1;
	CHECK(fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
	return read(p[0], b, 1) == 1;
}

static void *victim(void *arg)
{
	near_ = 1;
	for (;;)
		taken += take();
	return arg;
}

static void set_up(void)
{
	struct mq_attr at = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32];

	if (IS("accept")) {
		listener = t_listen(&port);
		return;
	}
	if (IS("recvmmsg") || PART)
		t_pair(p);
	else
		t_pipe(p);
	if (IS("part_write")) {
		close(p[0]);
		close(p[1]);
		t_pipe(p);
	}
	CHECK(sem_init(&sem, 0, 0) == 0);
	stream = fdopen(dup(p[0]), "r");
	snprintf(name, sizeof(name), "/t-%d", (int)getpid());
	if (IS("mq_receive")) {
		mq = mq_open(name, O_RDWR | O_CREAT, 0600, &at);
		CHECK(mq != (mqd_t)-1);
		CHECK(mq_unlink(name) == 0);
	}
	msgq = IS("msgrcv") ? msgget(IPC_PRIVATE, 0600) : -1;
}

static void tear_down(void)
{
	if (IS("accept")) {
		close(listener);
		return;
	}
	fclose(stream);
	close(p[0]);
	close(p[1]);
	if (IS("mq_receive"))
		mq_close(mq);
	if (msgq >= 0)
		CHECK(msgctl(msgq, IPC_RMID, NULL) == 0);
}

static void *other(void *arg)
{
	CHECK(sem_wait(&sem) == 0);
	others = 1;
	return arg;
}

/* The victim is the first in the queue; if it does not, the other one gets it. */
static void one_semaphore(pthread_t *second)
{
	t_settle();
	*second = t_thread(other, NULL);
	t_settle();
}

static void one(int turn)
{
	pthread_t th, second = 0;

	set_up();
	near_ = taken = others = 0;
	th = t_thread(victim, NULL);
	while (!near_)
		sched_yield();
	if (IS("sem"))
		one_semaphore(&second);
	else if (turn % 4)
		t_settle();
	give();
	if (!getenv("T_HOOKED"))
		while (!taken && !others)
			sched_yield();
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	if (!IS("sem")) {
		CHECK(taken + left() == 1);
	} else {
		if (taken)
			give();
		t_join(second);
	}
	tear_down();
}

/* A part has been sent, or received, when the cancel comes. */
static void *part_of(void *arg)
{
	near_ = 1;
	if (IS("part_send"))
		part = send(p[1], big, BIG, 0);
	else if (IS("part_write"))
		part = write(p[1], big, BIG);
	else
		part = recv(p[0], big, BIG, MSG_WAITALL);
	for (;;)
		pause();
	return arg;
}

static void *drain(void *arg)
{
	long n = 0, r;

	while ((r = read(p[0], sink, sizeof(sink))) > 0)
		n += r;
	CHECK(r == 0);
	*(long *)arg = n;
	return arg;
}

static void one_part(int turn)
{
	const int hooked = getenv("T_HOOKED") != NULL;
	pthread_t th, reader = 0;
	long rest;
	int state;

	set_up();
	fclose(stream);
	stream = fdopen(dup(0), "r");
	near_ = 0;
	part = -1;
	th = t_thread(part_of, NULL);
	while (!near_)
		sched_yield();
	if (IS("part_recv"))
		t_write(p[1], big, 1000);
	if (turn % 2)
		t_settle();
	if (!hooked && IS("part_recv"))
		CHECK(shutdown(p[1], SHUT_WR) == 0);
	else if (!hooked)
		reader = t_thread(drain, &rest);
	while (!hooked && part < 0)
		sched_yield();
	/* Until then it has done nothing yet. */
	if (!IS("part_recv"))
		do
			CHECK(ioctl(p[0], FIONREAD, &state) == 0);
		while (!state && hooked);
	CHECK_0(pthread_cancel(th));
	CHECK(t_join(th) == PTHREAD_CANCELED);
	t_close(p[1]);
	if (!IS("part_recv")) {
		if (!reader)
			reader = t_thread(drain, &rest);
		t_join(reader);
		CHECK(rest == part);
	} else {
		drain(&rest);
		CHECK((part < 0 ? 0 : part) + rest == 1000);
	}
	p[1] = dup(0);
	tear_down();
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	what = argv[1];
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
	for (int turn = 0; turn < TURNS; turn++)
		if (PART)
			one_part(turn);
		else
			one(turn);
	return 0;
}
