/*
 * What is mostly so, and once is not: after many reads that have left nothing, one
 * leaves something, and the next one has it, whatever else happens meanwhile: others
 * compute, a limit ends, a signal comes, the number is closed.
 *
 * t-case: left
 * t-case: stuck
 * t-case: limit
 * t-case: signal
 * t-case: closed
 * t-case: short
 * t-case: record
 * t-case: polled
 * t-case: mask
 */
#include "../calls.h"
#include <poll.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/timerfd.h>

enum { PIPE, PAIR, TCP, PACKETS, UDP, EVENT, KINDS };
enum { TRAIN = 48, UNIT = 8, ROUNDS = 3 };

/* Who asks for units at ask gets as many by in. */
struct way {
	int in, out;	/* units */
	int ask, asked; /* bytes: how many units */
	pthread_t peer;
};

static void ends(int kind, int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	switch (kind) {
	case PIPE:
		t_pipe(fd);
		break;
	case PAIR:
		t_pair(fd);
		break;
	case TCP:
		t_tcp_pair(fd);
		break;
	case PACKETS:
		CHECK_0(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd));
		break;
	case UDP:
		fd[0] = socket(AF_INET, SOCK_DGRAM, 0);
		fd[1] = socket(AF_INET, SOCK_DGRAM, 0);
		CHECK(fd[0] >= 0 && fd[1] >= 0);
		CHECK_0(bind(fd[0], (void *)&a, sizeof(a)));
		CHECK_0(getsockname(fd[0], (void *)&a, &n));
		CHECK_0(connect(fd[1], (void *)&a, n));
		break;
	case EVENT:
		fd[0] = eventfd(0, EFD_SEMAPHORE);
		fd[1] = dup(fd[0]);
		CHECK(fd[0] >= 0 && fd[1] >= 0);
		break;
	}
}

static bool has_messages(int kind)
{
	return kind == PACKETS || kind == UDP;
}

static void give(int kind, int fd, int units)
{
	static const uint64_t unit[4] = { 1, 1, 1, 1 };
	uint64_t count = (uint64_t)units;

	if (kind == EVENT)
		t_write(fd, &count, sizeof(count));
	else if (!has_messages(kind))
		t_write(fd, unit, (size_t)units * UNIT);
	for (int i = 0; has_messages(kind) && i < units; i++)
		t_write(fd, unit, UNIT);
}

static sem_t go, gone, given;
static int kind_of_test;

static void *peer(void *arg)
{
	struct way *w = arg;
	char units;

	while (read(w->asked, &units, 1) == 1) {
		give(kind_of_test, w->out, units);
		if (units > 1)
			CHECK_0(sem_post(&given));
	}
	return arg;
}

static void take(const struct way *w)
{
	uint64_t u = 0;

	errno = 0;
	CHECK(read(w->in, &u, UNIT) == UNIT);
	CHECK(u == 1);
}

/* Several are all there then. */
static void ask(const struct way *w, char units)
{
	t_write(w->ask, &units, 1);
	if (units > 1)
		CHECK_0(sem_wait(&given));
}

static void begin(struct way *w, int kind)
{
	int units[2], bytes[2];

	kind_of_test = kind;
	ends(kind, units);
	t_pipe(bytes);
	*w = (struct way){ units[0], units[1], bytes[1], bytes[0], 0 };
	w->peer = t_thread(peer, w);
}

static void end(struct way *w)
{
	t_close(w->ask);
	t_join(w->peer);
	t_close(w->asked);
	t_close(w->in);
	t_close(w->out);
}

static void await(const struct way *w)
{
	struct pollfd p = { .fd = w->in, .events = POLLIN };

	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
}

static void train(const struct way *w)
{
	for (int i = 0; i < TRAIN; i++) {
		ask(w, 1);
		take(w);
	}
}

/* The last unit but one has been taken: @then(), and the last one. */
static void each_kind(void (*then)(const struct way *))
{
	struct way w;

	for (int kind = 0; kind < KINDS; kind++) {
		begin(&w, kind);
		for (int i = 0; i < ROUNDS; i++) {
			train(&w);
			ask(&w, 2);
			take(&w);
			then(&w);
		}
		t_say("%d", kind);
		end(&w);
	}
}

static atomic_int done;

static void *left(void *arg)
{
	each_kind(take);
	return arg;
}

/* Another thread computes until the last unit is there. */
static void *compute(void *arg)
{
	CHECK_0(sem_wait(&go));
	while (!done)
		;
	return arg;
}

static void take_beside(const struct way *w)
{
	pthread_t th[8];

	done = 0;
	for (int i = 0; i < (int)T_LEN(th); i++)
		th[i] = t_thread(compute, NULL);
	for (int i = 0; i < (int)T_LEN(th); i++)
		CHECK_0(sem_post(&go));
	take(w);
	done = 1;
	for (int i = 0; i < (int)T_LEN(th); i++)
		t_join(th[i]);
}

static void *stuck(void *arg)
{
	each_kind(take_beside);
	return arg;
}

/* For 5 ms, and then it is over. */
static void *compute_a_while(void *arg)
{
	CHECK_0(sem_wait(&go));
	for (long long from = t_now(); t_now() - from < 5 * T_MS;)
		;
	return arg;
}

static void take_in_time(const struct way *w)
{
	struct timeval soon = { 0, 1000 }, never = { 0, 0 };
	pthread_t th = t_thread(compute_a_while, NULL);

	setsockopt(w->in, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	CHECK_0(sem_post(&go));
	take(w);
	setsockopt(w->in, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never));
	t_join(th);
}

static void *limit(void *arg)
{
	each_kind(take_in_time);
	return arg;
}

static pthread_t reader;

static void *kill_beside(void *arg)
{
	CHECK_0(sem_wait(&go));
	CHECK_0(pthread_kill(reader, SIGUSR1));
	CHECK_0(sem_post(&gone));
	for (long long from = t_now(); t_now() - from < 5 * T_MS;)
		;
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void take_signalled(const struct way *w)
{
	pthread_t th;

	reader = pthread_self();
	th = t_thread(kill_beside, NULL);
	CHECK_0(sem_post(&go));
	take(w);
	t_down(&gone);
	t_join(th);
}

static void *signalled(void *arg)
{
	struct sigaction sa = { .sa_handler = on_signal };

	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	each_kind(take_signalled);
	return arg;
}

static int to_close;

static void *close_it(void *arg)
{
	CHECK_0(sem_wait(&go));
	t_close(to_close);
	CHECK_0(sem_post(&gone));
	return arg;
}

/* It may come before the read, which fails then. */
static void take_closed(const struct way *w)
{
	pthread_t th = t_thread(close_it, NULL);
	int keep = dup(w->in);
	uint64_t u;

	CHECK(keep >= 0);
	to_close = w->in;
	CHECK_0(sem_post(&go));
	errno = 0;
	if (read(w->in, &u, UNIT) != UNIT) {
		CHECK(errno == EBADF);
		CHECK(read(keep, &u, UNIT) == UNIT);
	}
	CHECK_0(sem_wait(&gone));
	t_join(th);
	CHECK(dup2(keep, w->in) == w->in);
	t_close(keep);
}

static void *closed(void *arg)
{
	each_kind(take_closed);
	return arg;
}

/* Some files refuse at once what is too short for them. */
static void *too_short(void *arg)
{
	struct itimerspec once = { .it_value = { 0, 1000 } };
	int t = timerfd_create(CLOCK_MONOTONIC, 0);
	struct way w;
	uint64_t u;
	char c;

	begin(&w, EVENT);
	train(&w);
	CHECK_ERR(read(w.in, &c, 1), EINVAL);
	train(&w);
	CHECK_ERR(readv(w.in, &(struct iovec){ &c, 1 }, 1), EINVAL);
	end(&w);
	CHECK(t >= 0);
	for (int i = 0; i < TRAIN; i++) {
		CHECK_0(timerfd_settime(t, 0, &once, NULL));
		CHECK(read(t, &u, sizeof(u)) == sizeof(u) && u == 1);
	}
	CHECK_ERR(read(t, &c, 1), EINVAL);
	t_close(t);
	return arg;
}

/* A head of one unit, and two, of which nothing is left. Then one is without a head. */
static void *record(void *arg)
{
	static const int kind[] = { PIPE, PAIR, TCP };
	uint64_t u[3];
	struct way w;

	for (size_t k = 0; k < T_LEN(kind); k++) {
		begin(&w, kind[k]);
		for (int i = 0; i < TRAIN; i++) {
			ask(&w, 3);
			take(&w);
			CHECK(read(w.in, u, 2 * UNIT) == 2 * UNIT);
		}
		ask(&w, 4);
		take(&w);
		CHECK(read(w.in, u, 2 * UNIT) == 2 * UNIT);
		take(&w);
		ask(&w, 1);
		CHECK(read(w.in, u, 3 * UNIT) == UNIT);
		t_say("%d", kind[k]);
		end(&w);
	}
	return arg;
}

static void await_by_select(const struct way *w)
{
	struct timeval long_time = { 15, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->in, &set);
	CHECK(select(w->in + 1, &set, NULL, NULL, &long_time) == 1);
}

static void look(const struct way *w, int ms, int answer)
{
	struct pollfd p = { .fd = w->in, .events = POLLIN };

	CHECK(poll(&p, 1, ms) == answer);
}

static void *polled(void *arg)
{
	struct way w;

	for (int kind = 0; kind < KINDS; kind++) {
		begin(&w, kind);
		for (int i = 0; i < ROUNDS * TRAIN; i++) {
			ask(&w, 1);
			if (i & 1)
				await(&w);
			else
				await_by_select(&w);
			take(&w);
			if (i % TRAIN < TRAIN - 1)
				continue;
			ask(&w, 4);
			await(&w);
			take(&w);
			look(&w, 0, 1);
			look(&w, 1, 1);
			look(&w, -1, 1);
			take(&w);
			await_by_select(&w);
			take(&w);
			await(&w);
			take(&w);
			look(&w, 0, 0);
			look(&w, 1, 0);
		}
		t_say("%d", kind);
		end(&w);
	}
	return arg;
}

static atomic_int handled;

static void count(int sig)
{
	handled += sig == SIGUSR1;
}

/* Who is ready comes before a signal that the mask lets in. */
static void *mask(void *arg)
{
	struct sigaction sa = { .sa_handler = count };
	struct pollfd p = { .events = POLLIN };
	sigset_t usr, none;
	struct way w;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigemptyset(&none);
	CHECK_0(sigaction(SIGUSR1, &sa, NULL));
	CHECK_0(pthread_sigmask(SIG_BLOCK, &usr, NULL));
	for (int kind = 0; kind < KINDS; kind++) {
		begin(&w, kind);
		p.fd = w.in;
		for (int i = 0; i < TRAIN; i++) {
			ask(&w, 1);
			CHECK(ppoll(&p, 1, NULL, &none) == 1);
			take(&w);
		}
		CHECK_0(pthread_kill(pthread_self(), SIGUSR1));
		ask(&w, 2);
		await(&w);
		take(&w);
		look(&w, 0, 1);
		handled = 0;
		CHECK(ppoll(&p, 1, NULL, &none) == 1 && !handled);
		take(&w);
		CHECK_ERR(ppoll(&p, 1, NULL, &none), EINTR);
		CHECK(handled == 1);
		t_say("%d", kind);
		end(&w);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "left", left },     { "stuck", stuck },
		{ "limit", limit },   { "signal", signalled },
		{ "closed", closed }, { "short", too_short },
		{ "record", record }, { "polled", polled },
		{ "mask", mask },
	};

	CHECK(argc == 2);
	CHECK_0(sem_init(&go, 0, 0));
	CHECK_0(sem_init(&gone, 0, 0));
	CHECK_0(sem_init(&given, 0, 0));
	t_run_case(cases, T_LEN(cases), argv[1]);
	puts("done");
	return 0;
}
