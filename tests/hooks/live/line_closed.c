/*
 * Threads that wait for the same unix socket, and their numbers are closed
 * meanwhile: each goes on with its file, the first as well as those behind it.
 *
 * t-case: connect
 * t-case: datagram
 */
#include "t.h"
#include <stdbool.h>

enum { N = 4, ATTEMPTS = 30 };

static struct sockaddr_un at;
static int target, fd[N], over;

static int by_connect(int i)
{
	return connect(fd[i], (struct sockaddr *)&at, sizeof(at));
}

static int by_datagram(int i)
{
	return (int)sendto(fd[i], "x", 1, 0, (struct sockaddr *)&at,
			   sizeof(at)) - 1;
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

static void fill_listener(void)
{
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK(listen(target, 0) == 0);
	CHECK(connect(s, (struct sockaddr *)&at, sizeof(at)) == 0);
	t_close(s);
}

static void fill_receiver(void)
{
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);

	while (sendto(s, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      sizeof(at)) == 1)
		;
	CHECK(errno == EAGAIN);
	t_close(s);
}

static const struct how {
	const char *name;
	int type;
	void (*fill)(void);
	int (*call)(int i);
	bool (*take)(void);
} hows[] = {
	{ "connect", SOCK_STREAM, fill_listener, by_connect, take_connection },
	{ "datagram", SOCK_DGRAM, fill_receiver, by_datagram, take_datagram },
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

	target = socket(AF_UNIX, how->type, 0);
	unlink(at.sun_path);
	CHECK(bind(target, (struct sockaddr *)&at, sizeof(at)) == 0);
	how->fill();
	over = 0;
	for (int i = 0; i < N; i++) {
		o[i] = (struct one){ how, i, 0 };
		fd[i] = socket(AF_UNIX, how->type, 0);
		th[i] = t_thread(waits, &o[i]);
		t_settle();
	}
	for (int i = 0; i < N; i++)
		t_close(fd[i]);
	while (__atomic_load_n(&over, __ATOMIC_SEQ_CST) < N)
		if (!how->take())
			sched_yield();
	for (int i = 0; i < N; i++) {
		t_join(th[i]);
		CHECK(o[i].err == 0 || o[i].err == EBADF);
		all = all && o[i].err == 0;
	}
	t_close(target);
	return all;
}

int main(int argc, char **argv)
{
	at.sun_family = AF_UNIX;
	strcpy(at.sun_path, "./line");
	for (size_t i = 0; i < T_LEN(hows); i++) {
		bool all = false;

		if (argc > 1 && strcmp(argv[1], hows[i].name) != 0)
			continue;
		for (int k = 0; k < ATTEMPTS && !all; k++)
			all = attempt(&hows[i]);
		CHECK(all);
		t_say("%s: all go on", hows[i].name);
	}
	return 0;
}
