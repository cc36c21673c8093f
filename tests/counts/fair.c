/*
 * Are the connections of a busy server answered in turn? For count.py.
 *
 *	fair KIND CONNS ROUNDS [record | AHEAD]
 *
 * A thread for each connection (KIND: tcp, stream, packet) answers after some work; it
 * reads what there is, or as much as a question has (record). A client in another process
 * asks again whatever has been answered, until there were ROUNDS answers for each
 * connection on average. Prints Jain's index of them: 1, if all have had
 * as many; 1 / CONNS, if one has had all.
 *
 * The first AHEAD connections always have several questions unanswered, and are alone at
 * first: they hardly wait, and the others, who come then, do. Client and server have a
 * processor each, if there are two.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "t.h"

#define SIZE  64
#define EARLY 3	 /* rounds that do not count */
#define ALONE 50 /* the same, of those who are asked ahead, */
#define DEPTH 8	 /* and their questions at once */
#define WORK  5000

static int (*ends)[2];
static size_t most = 4096;
static int ahead;

static void *serves(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, most)) > 0) {
		for (volatile int i = 0; i < WORK; i++)
			;
		if (write(fd, buf, (size_t)n) != n)
			break;
	}
	return arg;
}

static void ask(int conn)
{
	char buf[SIZE] = { 0 };

	CHECK(write(ends[conn][0], buf, SIZE) == SIZE);
}

/* From now on, on the caller's @last processor, or the first one. */
static void run_on(const cpu_set_t *all, int last)
{
	int n = last ? CPU_COUNT(all) : 1, cpu = 0;
	cpu_set_t one;

	for (; !CPU_ISSET(cpu, all) || --n; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_0(sched_setaffinity(0, sizeof(one), &one));
}

static void asks(int conns, long rounds)
{
	long early = EARLY + (ahead ? ALONE : 0), all = -early * conns;
	int begun = ahead ? ahead : conns;
	long *had = calloc((size_t)conns, sizeof(*had));
	struct epoll_event ev[256];
	double sum = 0, squares = 0;
	int e = epoll_create1(0);
	char buf[SIZE];

	for (int i = 0; i < conns; i++) {
		struct epoll_event it = { EPOLLIN, { .u32 = (uint32_t)i } };

		CHECK(epoll_ctl(e, EPOLL_CTL_ADD, ends[i][0], &it) == 0);
	}
	for (int i = 0; i < begun; i++)
		for (int k = ahead ? DEPTH : 1; k; k--)
			ask(i);
	while (all < rounds * conns) {
		int n = epoll_wait(e, ev, 256, -1);

		for (int i = 0; i < n; i++, all++) {
			uint32_t c = ev[i].data.u32;

			CHECK(read(ends[c][0], buf, SIZE) == SIZE);
			ask((int)c);
			had[c] += all >= 0;
		}
		for (; all >= -EARLY * (long)conns && begun < conns; begun++)
			ask(begun);
	}
	for (int i = 0; i < conns; i++) {
		sum += (double)had[i];
		squares += (double)(had[i] * had[i]);
	}
	t_say("jain=%.4f", sum * sum / conns / squares);
	_exit(0);
}

int main(int argc, char **argv)
{
	int conns = argc >= 4 ? atoi(argv[2]) : 0, status;
	struct rlimit many;
	cpu_set_t cpus;
	pid_t client;

	CHECK(conns > 0);
	if (argc > 4 && !strcmp(argv[4], "record"))
		most = SIZE;
	else if (argc > 4)
		ahead = atoi(argv[4]);
	CHECK(ahead >= 0 && ahead < conns);
	signal(SIGPIPE, SIG_IGN); /* when the client has all answers */
	CHECK(getrlimit(RLIMIT_NOFILE, &many) == 0);
	many.rlim_cur = many.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &many) == 0);
	ends = calloc((size_t)conns, sizeof(*ends));
	for (int i = 0; i < conns; i++)
		if (!strcmp(argv[1], "tcp"))
			t_tcp_pair(ends[i]);
		else
			CHECK_0(socketpair(AF_UNIX,
					   *argv[1] == 'p' ? SOCK_SEQPACKET :
							     SOCK_STREAM,
					   0, ends[i]));
	CHECK_0(sched_getaffinity(0, sizeof(cpus), &cpus));
	client = fork();
	CHECK(client >= 0);
	if (ahead)
		run_on(&cpus, client == 0);
	for (int i = 0; i < conns; i++)
		t_close(ends[i][client == 0]);
	if (client == 0)
		asks(conns, atol(argv[3]));
	for (int i = 0; i < conns; i++)
		t_small_thread(serves, (void *)(intptr_t)ends[i][1]);
	CHECK(waitpid(client, &status, 0) == client && status == 0);
	return 0;
}
