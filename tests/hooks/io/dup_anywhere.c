/*
 * dup2() onto any number below the limit, while threads wait for descriptors, are
 * woken and sleep again: it is had, is the file that was asked for, and is free
 * when it is closed. Nobody waits longer for it, and signals are handled.
 *
 * It starts again with a limit that is as high as may be: then the program begins
 * with it.
 *
 * t-case: once
 * t-case: stays
 * t-case: threads
 */
#include "t.h"
#include <sys/epoll.h>
#include <sys/resource.h>

#define LIMIT	200
#define THREADS 6

static int pairs[THREADS][2], null;
static _Atomic int stop, handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void with_limit(char **argv)
{
	struct rlimit lim;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_max == LIMIT && lim.rlim_cur == LIMIT)
		return;
	lim = (struct rlimit){ LIMIT, LIMIT };
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
	execv("/proc/self/exe", argv);
	CHECK(!"exec");
}

static void *echoes(void *arg)
{
	int fd = *(int *)arg;
	char c;

	while (read(fd, &c, 1) == 1)
		CHECK(write(fd, &c, 1) == 1);
	return NULL;
}

/* All of them are woken, one after the other. */
static void ask_all(void)
{
	for (int i = 0; i < THREADS; i++) {
		char c = (char)('a' + i), got = 0;

		CHECK(write(pairs[i][1], &c, 1) == 1);
		CHECK(read(pairs[i][1], &got, 1) == 1 && got == c);
	}
}

static int is_null(int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(null, &b) == 0 &&
	       a.st_rdev == b.st_rdev && a.st_ino == b.st_ino;
}

/* Both a plain file and an epoll descriptor, which might be taken for ours. */
static int once(int from, int stays)
{
	int refused = 0;

	/* some stay free, for what has to move */
	for (int fd = pairs[THREADS - 1][1] + 12; fd < LIMIT; fd++) {
		if (dup2(from, fd) != fd) {
			refused++;
			continue;
		}
		CHECK(from != null || is_null(fd));
		if (!stays)
			CHECK(close(fd) == 0 && close(fd) < 0);
		if (fd % 4 == 0) {
			ask_all();
			CHECK(kill(getpid(), SIGUSR1) == 0);
		}
	}
	return refused;
}

static void *asks(void *arg)
{
	while (!stop)
		ask_all();
	return arg;
}

static void *dups(void *arg)
{
	int refused = 0;

	for (int i = 0; i < 20; i++)
		for (int fd = LIMIT - 40; fd < LIMIT; fd++) {
			if (dup3(null, fd, O_CLOEXEC) != fd)
				refused++;
			else
				CHECK(is_null(fd) && close(fd) == 0);
		}
	stop = 1;
	t_say("%d refused", refused);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "once";
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t t[THREADS];
	int ep;

	with_limit(argv);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	null = open("/dev/null", O_RDWR);
	ep = epoll_create1(0);
	CHECK(null >= 0 && ep >= 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		t[i] = t_thread(echoes, &pairs[i][0]);
	ask_all();
	if (how[0] == 't') {
		pthread_t a = t_thread(asks, NULL), d = t_thread(dups, NULL);

		t_join(a);
		t_join(d);
	} else {
		t_say("%d refused", once(null, 0));
		t_say("%d refused", once(ep, how[0] == 's'));
		t_say("handled: %s", handled > 20 ? "yes" : "no");
	}
	ask_all();
	for (int i = 0; i < THREADS; i++) {
		close(pairs[i][1]);
		t_join(t[i]);
	}
	return 0;
}
