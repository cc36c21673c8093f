/*
 * Several threads that live in accept() at one listener: what may come of a wait is
 * the same after many of them.
 *
 * t-case: turns
 * t-case: late
 * t-case: shut
 * t-case: closed
 * t-case: cancel
 * t-case: signal
 * t-case: once
 * t-chaos-but idle_kick: the number and the place of a wait
 */
#include "../calls.h"
#include <stdatomic.h>

enum { N = 3, LONG = 1000 * N, ROUNDS = 4 };

static int l, port, base, others, served[LONG + 64];
static atomic_int nserved;
static pthread_t th[N + 1];
static volatile sig_atomic_t handled;

/* It goes on until something else than a connection comes of it. */
static void *acceptor(void *arg)
{
	int fd;

	while ((fd = accept(l, NULL, NULL)) >= 0) {
		served[atomic_fetch_add(&nserved, 1)] = (int)(intptr_t)arg;
		/* The number is free when the other side hears of it. */
		t_close(fd);
	}
	return (void *)(intptr_t)errno;
}

static void *accept_one(void *arg)
{
	int fd = accept(l, NULL, NULL);

	CHECK(fd >= 0);
	t_close(fd);
	return arg;
}

static void begin(int i)
{
	th[i] = t_thread(acceptor, (void *)(intptr_t)i);
}

static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(fd >= 0);
	t_close(fd);
	return fd;
}

static void connect_one(void)
{
	int fd = t_connect(port);

	t_eof(fd);
	t_close(fd);
}

/* Numbers from base on that are not free. */
static int taken(void)
{
	int n = 0;

	for (int i = base; i < base + 2 * N + 2; i++) {
		int fd = fcntl(0, F_DUPFD, i);

		CHECK(fd >= 0);
		n += fd != i;
		t_close(fd);
	}
	return n;
}

/* Who waits has a number: @n have. Then they have time to come to wait. */
static void await(int n)
{
	while (taken() != others + n)
		t_settle();
	t_pause();
}

static int serve_one(void)
{
	int n = atomic_load(&nserved);

	connect_one();
	CHECK(atomic_load(&nserved) == n + 1);
	return served[n];
}

static int how_it_ended(int i)
{
	void *r;

	CHECK_0(pthread_join(th[i], &r));
	return (int)(intptr_t)r;
}

static void end_all(int first, int n)
{
	CHECK(!shutdown(l, SHUT_RDWR));
	for (int i = first; i < n; i++)
		CHECK(how_it_ended(i) == EINVAL);
	t_say("what is shut ends %d", n - first);
	t_say("free again: %d", lowest() - base);
}

/* First come, first served: the order of the first round is that of all. */
static void turns(int n)
{
	int order[N + 1], seen = 0;

	for (int r = 0; r < ROUNDS * n; r++) {
		int who;

		await(n);
		who = serve_one();
		if (r < n)
			order[r] = who;
		else
			CHECK(order[r % n] == who);
		seen |= 1 << who;
	}
	t_say("by turns: %x", seen);
}

/* Behind the others. */
static void late(void)
{
	int order[N];

	for (int i = 0; i < N; i++) {
		await(N);
		order[i] = serve_one();
	}
	await(N);
	begin(N);
	await(N + 1);
	for (int i = 0; i < N; i++) {
		CHECK(serve_one() == order[i]);
		await(N + 1);
	}
	t_say("then who came late: %d", serve_one());
	end_all(0, N + 1);
}

/* They go on with the file, and begin anew by the number. */
static void closed(void)
{
	int old = l, fd;

	await(N);
	l = -1;
	t_close(old);
	for (int i = 0; i < N; i++) {
		fd = t_connect(port);
		t_eof(fd);
		t_close(fd);
	}
	for (int i = 0; i < N; i++)
		CHECK(how_it_ended(i) == EBADF);
	t_say("%d of what was closed", N);
}

static void cancel(void)
{
	await(N);
	t_cancel(th[1]);
	t_join(th[1]);
	await(N - 1);
	for (int i = 0; i < 2 * (N - 1); i++) {
		CHECK(serve_one() != 1);
		await(N - 1);
	}
	t_say("the others are served");
	begin(1);
	turns(N);
	end_all(0, N);
}

/* Each takes one, and does not come back: those who still wait hear of the others. */
static void once(void)
{
	pthread_t one[8];
	int fd[8];

	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 8; i++)
			one[i] = t_thread(accept_one, NULL);
		for (int i = 0; i < 8; i++)
			fd[i] = t_connect(port);
		for (int i = 0; i < 8; i++) {
			t_join(one[i]);
			t_close(fd[i]);
		}
	}
	t_say("each had one");
}

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
}

static void a_signal(void)
{
	t_handle(SIGUSR1, on_usr1, 0);
	await(N);
	CHECK_0(pthread_kill(th[0], SIGUSR1));
	CHECK(how_it_ended(0) == EINTR && handled == 1);
	for (int i = 0; i < N; i++) {
		await(N - 1);
		CHECK(serve_one() != 0);
	}
	t_say("one is interrupted");
	end_all(1, N);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	l = t_listen(&port);
	base = lowest();
	others = taken();
	t_be_threaded();
	if (!strcmp(argv[1], "once")) {
		once();
		return 0;
	}
	for (int i = 0; i < N; i++)
		begin(i);
	for (int i = 0; i < LONG; i++)
		connect_one();
	if (!strcmp(argv[1], "turns")) {
		turns(N);
		end_all(0, N);
	} else if (!strcmp(argv[1], "late")) {
		late();
	} else if (!strcmp(argv[1], "shut")) {
		await(N);
		end_all(0, N);
	} else if (!strcmp(argv[1], "closed")) {
		closed();
	} else if (!strcmp(argv[1], "cancel")) {
		cancel();
	} else {
		CHECK(!strcmp(argv[1], "signal"));
		a_signal();
	}
	return 0;
}
